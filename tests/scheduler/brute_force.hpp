#pragma once

/// Which tasks are ordered, and which must be, told from edges and regions by plain search.

#include <megakernels/ops/operation_list.hpp>
#include <megakernels/scheduler/depend.hpp>
#include <megakernels/scheduler/program/program.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace mk::kit {

/// Nodes 0 .. n-1 and edges between them.
class reachability {
public:
  explicit reachability(std::size_t count)
      : edges_(count), reach_(count, std::vector<std::uint64_t>((count + 63) / 64)) {}

  void add_edge(std::size_t from, std::size_t to) { edges_[from].push_back(to); }

  /// Follows all edges. False where there is a cycle.
  bool close() {
    std::vector<int> state(edges_.size()); // 0 not seen, 1 on the way, 2 done
    for (std::size_t i = 0; i < edges_.size(); ++i)
      if (!visit(i, state)) return false;
    return true;
  }

  bool before(std::size_t a, std::size_t b) const { return (reach_[a][b / 64] >> (b % 64) & 1) != 0; }
  bool ordered(std::size_t a, std::size_t b) const { return a == b || before(a, b) || before(b, a); }

private:
  bool visit(std::size_t i, std::vector<int>& state) {
    if (state[i] != 0) return state[i] == 2;
    state[i] = 1;
    for (auto next : edges_[i]) {
      if (!visit(next, state)) return false;
      reach_[i][next / 64] |= std::uint64_t(1) << (next % 64);
      for (std::size_t word = 0; word < reach_[i].size(); ++word) reach_[i][word] |= reach_[next][word];
    }
    state[i] = 2;
    return true;
  }

  std::vector<std::vector<std::size_t>> edges_;
  std::vector<std::vector<std::uint64_t>> reach_; // a bit for each node that comes later
};

/// What a task does to a tensor that something writes.
struct touch {
  std::size_t task;
  std::size_t base;
  bool write;
  box where; ///< in the base
};

inline bool conflict(touch const& a, touch const& b) {
  return a.base == b.base && (a.write || b.write) && overlap(a.where, b.where);
}

inline std::vector<touch> touches_of(graph const& g, tiling const& t) {
  std::vector<touch> result;
  for (std::size_t task = 0; task < t.tasks.size(); ++task) {
    auto const& node = g.nodes()[t.tasks[task].node];
    auto const operands = g.operands_of(node);
    region_list list(operands);
    node.op->regions(node.arguments.data(), operands, t.grid_of(t.tasks[task]), list);
    for (auto const& r : list.regions) {
      auto const index = static_cast<std::size_t>(node.operands[static_cast<std::size_t>(r.operand)]);
      auto const& v = g.values()[index];
      touch made{.task = task,
                 .base = v.base < 0 ? index : static_cast<std::size_t>(v.base),
                 .write = r.write,
                 .where = r.where};
      for (std::size_t i = 0; i < max_rank; ++i) made.where.begin[i] += v.origin[i], made.where.end[i] += v.origin[i];
      auto const kind = g.values()[made.base].kind;
      if ((kind == value_kind::state || kind == value_kind::result) && !is_empty(made.where)) result.push_back(made);
    }
  }
  return result;
}

inline reachability order_of(dependencies const& d) {
  reachability order(d.waits.size());
  for (std::size_t task = 0; task < d.waits.size(); ++task)
    for (auto set : d.waits[task])
      for (auto producer : d.sets[set]) order.add_edge(producer, task);
  return order;
}

inline std::vector<touch> touches_of(program const& p, operation_table const& table) {
  std::vector<touch> result;
  for (std::size_t i = 0; i < p.records.size(); ++i) {
    auto const& node = p.nodes[p.records[i].node];
    auto const& op = table.operations[node.operation];
    auto const operands = operands_of(p, node);
    region_list list(operands);
    op.regions(node.arguments.data(), operands, task_of(node, op.work(node.arguments.data(), operands), p.records[i]),
               list);
    for (auto const& r : list.regions) {
      auto const index = static_cast<std::size_t>(node.operands[static_cast<std::size_t>(r.operand)]);
      auto const& t = p.tensors[index];
      touch made{
          .task = i, .base = t.base < 0 ? index : static_cast<std::size_t>(t.base), .write = r.write, .where = r.where};
      for (std::size_t k = 0; k < max_rank; ++k) made.where.begin[k] += t.origin[k], made.where.end[k] += t.origin[k];
      auto const kind = p.buffers[t.buffer].kind;
      bool const changes = kind == buffer_kind::state || kind == buffer_kind::output || kind == buffer_kind::workspace;
      if (changes && !is_empty(made.where)) result.push_back(made);
    }
  }
  return result;
}

/// Records of a worker in order, and each wait after all signals of its counter.
inline reachability order_of(program const& p) {
  reachability order(p.records.size());
  for (auto const& worker : p.workers)
    for (std::uint32_t i = 1; i < worker.count; ++i) order.add_edge(worker.first + i - 1, worker.first + i);
  std::vector<std::vector<std::size_t>> signals(p.counters.size());
  for (std::size_t i = 0; i < p.records.size(); ++i)
    for (auto c : signals_of(p, p.records[i])) signals[c].push_back(i);
  for (std::size_t i = 0; i < p.records.size(); ++i)
    for (auto c : waits_of(p, p.records[i]))
      for (auto from : signals[c]) order.add_edge(from, i);
  return order;
}

/// Tensors of the workspace that have bytes in common.
inline bool share_bytes(program const& p, std::size_t a, std::size_t b) {
  auto const& x = p.tensors[a];
  auto const& y = p.tensors[b];
  if (a == b || x.buffer != y.buffer || p.buffers[x.buffer].kind != buffer_kind::workspace) return false;
  return x.offset < y.offset + span_bytes(y.desc) && y.offset < x.offset + span_bytes(x.desc);
}

/// Why a program whose structure is right must not run, or nothing.
inline std::string fault_of(program const& p, operation_table const& table) {
  auto order = order_of(p);
  if (!order.close()) return "cycle";
  auto const touches = touches_of(p, table);
  for (auto const& a : touches)
    for (auto const& b : touches)
      if (conflict(a, b) && !order.ordered(a.task, b.task)) return "unordered";
  for (auto const& read : touches) { // written before, by tasks that are ordered before
    if (read.write || p.buffers[p.tensors[read.base].buffer].kind == buffer_kind::state) continue;
    std::vector<box> left{read.where};
    for (auto const& w : touches)
      if (w.write && w.base == read.base && order.before(w.task, read.task)) subtract(left, w.where);
    if (!left.empty()) return "not written";
  }
  std::set<std::pair<std::size_t, std::size_t>> forward, backward; // pairs of tensors with tasks ordered this way
  for (auto const& a : touches)
    for (auto const& b : touches) {
      if (a.base >= b.base || !share_bytes(p, a.base, b.base)) continue;
      if (order.before(a.task, b.task))
        forward.insert({a.base, b.base});
      else if (order.before(b.task, a.task))
        backward.insert({a.base, b.base});
      else
        return "memory";
    }
  for (auto const& pair : forward)
    if (backward.contains(pair)) return "memory";
  return {};
}

} // namespace mk::kit
