#include <megakernels/ops/error.hpp>
#include <megakernels/scheduler/program/internal/structure.hpp>

#include <algorithm>
#include <map>

// Happens-before by vector clocks. A worker runs its records in order, so "record `index` of worker `w` is done" is all
// that an event needs to be named by, and what is known to be done at some point is one number a worker. Records are
// visited in an order that respects all waits; each access to a tensor is compared with the earlier ones that overlap.

namespace mk::internal {
namespace {

using clock = std::vector<std::uint32_t>; // for each worker, how many of its records are done

/// Limits that no sensible program meets: a crafted one is refused instead of taking hours or all memory.
constexpr std::uint64_t most_clock_entries = std::uint64_t(1) << 28;
constexpr std::uint64_t most_comparisons = std::uint64_t(1) << 32;

void raise(clock& to, clock const& at_least) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], at_least[i]);
}

struct access {
  std::uint32_t worker;
  std::uint32_t index; // of the record in its worker
  std::uint32_t node;
  box where;
};

/// What a tensor's bytes have been through.
struct history {
  std::vector<access> writes; // that no later write covers
  std::vector<access> reads;  // that no later write covers
  clock last;                 // records done once every access is
  clock first;                // records known to be done before any access; both clocks are empty until then
};

class order {
public:
  order(program const& p, operation_table const& table, std::vector<work_shape> const& works)
      : p_(p), table_(table), works_(works) {
    auto const clocks = p.counters.size() + p.workers.size() + 2 * p.tensors.size();
    if (clocks > most_clock_entries / p.workers.size())
      throw program_error("program: " + std::to_string(p.counters.size()) + " counters and " +
                          std::to_string(p.tensors.size()) + " tensors for " + std::to_string(p.workers.size()) +
                          " workers are more than this library verifies");
    histories_.resize(p.tensors.size());
    worker_clocks_.assign(p.workers.size(), clock(p.workers.size()));
    counter_clocks_.resize(p.counters.size());
    missing_ = p.counters;
    done_.resize(p.workers.size());
    waiting_.resize(p.counters.size());
    operands_.reserve(p.nodes.size());
    for (auto const& node : p.nodes) operands_.push_back(operands_of(p, node));
  }

  void check() {
    std::vector<std::uint32_t> ready;
    for (std::uint32_t w = 0; w < p_.workers.size(); ++w) ready.push_back(w);
    while (!ready.empty()) {
      auto const worker = ready.back();
      ready.pop_back();
      advance(worker, ready);
    }
    for (std::size_t w = 0; w < p_.workers.size(); ++w)
      if (done_[w] < p_.workers[w].count) fail_stuck(w);
    check_handovers();
  }

private:
  /// Runs a worker's records until one has to wait; workers that it wakes become ready.
  void advance(std::uint32_t worker, std::vector<std::uint32_t>& ready) {
    auto const& range = p_.workers[worker];
    while (done_[worker] < range.count) {
      auto const& r = p_.records[range.first + done_[worker]];
      for (auto counter : waits_of(p_, r))
        if (missing_[counter] > 0) {
          waiting_[counter].push_back(worker);
          return;
        }
      auto& now = worker_clocks_[worker];
      for (auto counter : waits_of(p_, r)) raise(now, counter_clocks_[counter]);
      visit(worker, r);
      now[worker] = ++done_[worker];
      for (auto counter : signals_of(p_, r)) signal(counter, now, ready);
    }
  }

  void signal(std::uint32_t counter, clock const& now, std::vector<std::uint32_t>& ready) {
    auto& seen = counter_clocks_[counter];
    if (seen.empty()) seen.resize(now.size());
    raise(seen, now);
    if (--missing_[counter] > 0) return;
    ready.insert(ready.end(), waiting_[counter].begin(), waiting_[counter].end());
    waiting_[counter].clear();
  }

  [[noreturn]] void fail_stuck(std::size_t worker) const {
    auto const& r = p_.records[p_.workers[worker].first + done_[worker]];
    for (auto counter : waits_of(p_, r))
      if (missing_[counter] > 0)
        throw program_error("program: " + name_of(r.node) + ", record " + std::to_string(done_[worker]) +
                            " of worker " + std::to_string(worker) + ", waits for counter " + std::to_string(counter) +
                            " and would wait for ever: " + std::to_string(missing_[counter]) +
                            " of its signals come after the wait");
    throw program_error("program: a record waits for ever");
  }

  std::string name_of(std::uint32_t node) const { return describe(p_.nodes[node], table_); }

  void visit(std::uint32_t worker, record const& r) {
    auto const& node = p_.nodes[r.node];
    region_list list(operands_[r.node]);
    list.regions.swap(regions_);
    list.regions.clear();
    table_.operations[node.operation].regions(node.arguments.data(), operands_[r.node],
                                              task_of(node, works_[r.node], r), list);
    list.regions.swap(regions_);
    // Reads first: what a task writes it may have read before, never the other way round.
    for (bool const writes : {false, true})
      for (auto const& region : regions_)
        if (region.write == writes) touch(worker, r, region);
  }

  void touch(std::uint32_t worker, record const& r, region const& region) {
    auto const& node = p_.nodes[r.node];
    auto const operand = static_cast<std::size_t>(region.operand);
    if (operand >= node.operands.size() || node.operands[operand] < 0)
      throw program_error("program: " + name_of(r.node) + " touches an operand that it does not have");
    auto const index = static_cast<std::size_t>(node.operands[operand]);
    auto const& tensor = p_.tensors[index];
    auto const& slot = table_.operations[node.operation].slots[operand];
    if (region.write && !slot.is_written())
      throw program_error("program: " + name_of(r.node) + " writes '" + tensor.name + "', which it may only read");

    access a{worker, done_[worker], r.node, region.where};
    for (std::size_t i = 0; i < max_rank; ++i) {
      auto const limit = static_cast<std::int32_t>(i) < tensor.desc.rank ? tensor.desc.extents[i].capacity : 1;
      if (a.where.begin[i] < 0 || a.where.end[i] > limit)
        throw program_error("program: " + name_of(r.node) + " leaves '" + tensor.name + "' on axis " +
                            std::to_string(i) + ": [" + std::to_string(a.where.begin[i]) + ", " +
                            std::to_string(a.where.end[i]) + ") of " + std::to_string(limit));
      if (static_cast<std::int32_t>(i) < tensor.desc.rank) {
        a.where.begin[i] += tensor.origin[i];
        a.where.end[i] += tensor.origin[i];
      }
    }
    auto const kind = p_.buffers[tensor.buffer].kind;
    bool const read_only = kind == buffer_kind::constant || kind == buffer_kind::input || kind == buffer_kind::step;
    if (read_only || is_empty(a.where)) return;
    record_access(base_of(p_, index), a, region.write);
  }

  void record_access(std::size_t tensor, access const& a, bool write) {
    auto& h = histories_[tensor];
    begin_history(tensor);
    auto const& now = worker_clocks_[a.worker];
    expect_ordered(tensor, h.writes, a, now, write ? "writes" : "reads");
    if (write) {
      expect_ordered(tensor, h.reads, a, now, "writes");
      auto const covered = [&](access const& old) { return contains(a.where, old.where); };
      std::erase_if(h.writes, covered);
      std::erase_if(h.reads, covered);
      h.writes.push_back(a);
    } else {
      expect_written(tensor, h, a);
      h.reads.push_back(a);
    }
    h.last[a.worker] = std::max(h.last[a.worker], a.index + 1);
    for (std::size_t w = 0; w < now.size(); ++w) h.first[w] = std::min(h.first[w], now[w]);
  }

  void expect_ordered(std::size_t tensor, std::vector<access> const& earlier, access const& a, clock const& now,
                      std::string_view does) {
    comparisons_ += earlier.size();
    if (comparisons_ > most_comparisons) throw program_error("program: too large to verify");
    for (auto const& old : earlier) {
      if (old.worker == a.worker || now[old.worker] > old.index || !overlap(old.where, a.where)) continue;
      throw program_error("program: " + name_of(a.node) + " on worker " + std::to_string(a.worker) + " " +
                          std::string(does) + " '" + p_.tensors[tensor].name + "' while " + name_of(old.node) +
                          " on worker " + std::to_string(old.worker) + " may still " +
                          (does == "reads" ? "write" : "use") + " it: no wait orders them");
    }
  }

  /// Every element of an intermediate that is read was written before.
  void expect_written(std::size_t tensor, history const& h, access const& a) {
    if (p_.buffers[p_.tensors[tensor].buffer].kind == buffer_kind::state) return;
    left_.assign(1, a.where);
    for (auto const& w : h.writes) {
      if (left_.empty()) return;
      if (!overlap(w.where, a.where)) continue;
      comparisons_ += left_.size();
      subtract(left_, w.where);
    }
    if (!left_.empty())
      throw program_error("program: " + name_of(a.node) + " reads '" + p_.tensors[tensor].name +
                          "' before all of it is written");
  }

  void begin_history(std::size_t tensor) {
    auto& h = histories_[tensor];
    if (!h.last.empty()) return;
    h.last.assign(p_.workers.size(), 0);
    h.first.assign(p_.workers.size(), UINT32_MAX);
    if (p_.buffers[p_.tensors[tensor].buffer].kind == buffer_kind::workspace) take_bytes(tensor);
  }

  /// The tensor becomes the owner of its bytes; that the former owners are done with them is checked at the end.
  void take_bytes(std::size_t tensor) {
    auto const& t = p_.tensors[tensor];
    auto const begin = t.offset;
    auto const end = begin + span_bytes(t.desc);
    if (begin == end) return;
    auto& owners = owners_[t.buffer];
    auto at = owners.upper_bound(begin);
    if (at != owners.begin()) --at;
    while (at != owners.end() && at->first < end) {
      auto const old_begin = at->first;
      auto const old = at->second;
      if (old.end <= begin) {
        ++at;
        continue;
      }
      handovers_.push_back({old.tensor, tensor});
      at = owners.erase(at);
      if (old_begin < begin) owners[old_begin] = {begin, old.tensor};
      if (old.end > end) owners[end] = {old.end, old.tensor};
    }
    owners[begin] = {end, tensor};
  }

  void check_handovers() const {
    for (auto const& [old, taker] : handovers_)
      for (std::size_t w = 0; w < p_.workers.size(); ++w)
        if (histories_[taker].first[w] < histories_[old].last[w])
          throw program_error("program: tensor '" + p_.tensors[taker].name + "' takes the memory of '" +
                              p_.tensors[old].name + "' while worker " + std::to_string(w) + " may still use it");
  }

  struct owner {
    std::uint64_t end;
    std::size_t tensor;
  };

  program const& p_;
  operation_table const& table_;
  std::vector<work_shape> const& works_;
  std::vector<history> histories_;
  std::vector<clock> worker_clocks_;
  std::vector<clock> counter_clocks_;
  std::vector<std::uint32_t> missing_; // signals that each counter still waits for
  std::vector<std::uint32_t> done_;    // records done of each worker
  std::vector<std::vector<std::uint32_t>> waiting_;
  std::vector<std::vector<tensor_desc>> operands_;
  std::map<std::uint32_t, std::map<std::uint64_t, owner>> owners_; // by buffer and first byte
  std::vector<std::pair<std::size_t, std::size_t>> handovers_;     // tensors: former owner of bytes, and taker
  std::vector<region> regions_;
  std::vector<box> left_;
  std::uint64_t comparisons_ = 0;
};

} // namespace

void check_order(program const& p, operation_table const& table, std::vector<work_shape> const& works) {
  order(p, table, works).check();
}

} // namespace mk::internal

namespace mk {

void verify(program const& p, operation_table const& table) {
  internal::check_order(p, table, internal::check_structure(p, table));
}

} // namespace mk
