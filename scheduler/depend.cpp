#include <megakernels/scheduler/depend.hpp>

#include <algorithm>
#include <map>

namespace mk {
namespace {

/// Accesses of one tensor that later ones may have to wait for.
struct frontier {
  struct access {
    std::uint32_t task;
    box where;
  };
  std::vector<access> writes;
  std::vector<access> reads;
};

class analysis {
public:
  analysis(graph const& g, tiling const& t) : g_(g), tiling_(t), frontiers_(g.values().size()) {}

  dependencies run() {
    result_.waits.resize(tiling_.tasks.size());
    result_.before.assign(tiling_.nodes.size(), std::vector<bool>(tiling_.nodes.size()));
    for (std::uint32_t n = 0; n < tiling_.nodes.size(); ++n) visit_node(n);
    return std::move(result_);
  }

private:
  void visit_node(std::uint32_t n) {
    auto const& node = g_.nodes()[n];
    auto const& tiles = tiling_.nodes[n];
    auto const operands = g_.operands_of(node);
    std::vector<std::vector<region>> regions;
    for (std::uint32_t i = 0; i < tiles.task_count; ++i) {
      auto const t = tiles.first_task + i;
      region_list list(operands);
      node.op->regions(node.arguments.data(), operands, tiling_.grid_of(tiling_.tasks[t]), list);
      regions.push_back(std::move(list.regions));
      auto producers = producers_of(node, regions.back());
      note_before(n, i == 0, producers);
      reduce(producers);
      if (!producers.empty()) result_.waits[t].push_back(set_of(std::move(producers)));
    }
    // Tasks of one node do not depend on each other: all look at the state before the node.
    for (std::uint32_t i = 0; i < tiles.task_count; ++i) enter(node, regions[i], tiles.first_task + i);
  }

  /// The region of a value in coordinates of what it is a window of.
  std::pair<std::size_t, box> in_base(graph::node_info const& node, region const& r) const {
    auto const index = static_cast<std::size_t>(node.operands[static_cast<std::size_t>(r.operand)]);
    auto const& v = g_.values()[index];
    auto where = r.where;
    for (std::size_t i = 0; i < static_cast<std::size_t>(v.desc.rank); ++i) {
      where.begin[i] += v.origin[i];
      where.end[i] += v.origin[i];
    }
    return {v.base < 0 ? index : static_cast<std::size_t>(v.base), where};
  }

  std::vector<std::uint32_t> producers_of(graph::node_info const& node, std::vector<region> const& regions) const {
    std::vector<std::uint32_t> producers;
    auto const collect = [&](std::vector<frontier::access> const& from, box const& where) {
      for (auto const& a : from)
        if (overlap(a.where, where)) producers.push_back(a.task);
    };
    for (auto const& r : regions) {
      auto const [base, where] = in_base(node, r);
      if (is_empty(where)) continue;
      collect(frontiers_[base].writes, where);
      if (r.write) collect(frontiers_[base].reads, where);
    }
    std::sort(producers.begin(), producers.end());
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    return producers;
  }

  void enter(graph::node_info const& node, std::vector<region> const& regions, std::uint32_t task) {
    for (bool const writes : {false, true})
      for (auto const& r : regions) {
        if (r.write != writes) continue;
        auto const [base, where] = in_base(node, r);
        auto const kind = g_.values()[base].kind;
        if (is_empty(where) || (kind != value_kind::state && kind != value_kind::result)) continue;
        auto& f = frontiers_[base];
        if (r.write) {
          auto const covered = [&](frontier::access const& a) { return contains(where, a.where); };
          std::erase_if(f.writes, covered);
          std::erase_if(f.reads, covered);
          f.writes.push_back({task, where});
        } else
          f.reads.push_back({task, where});
      }
  }

  /// before[n] is what holds for each of the node's tasks: the nodes all of whose tasks are among the producers, and
  /// all that is before a producer's node.
  void note_before(std::uint32_t n, bool first, std::vector<std::uint32_t> const& producers) {
    std::vector<bool> holds(tiling_.nodes.size());
    for (std::size_t i = 0; i < producers.size();) {
      auto const node = tiling_.tasks[producers[i]].node;
      auto end = i;
      while (end < producers.size() && tiling_.tasks[producers[end]].node == node) ++end;
      if (end - i == tiling_.nodes[node].task_count) holds[node] = true;
      for (std::size_t x = 0; x < holds.size(); ++x)
        if (result_.before[node][x]) holds[x] = true;
      i = end;
    }
    auto& all = result_.before[n];
    if (first)
      all = std::move(holds);
    else
      for (std::size_t x = 0; x < all.size(); ++x) all[x] = all[x] && holds[x];
  }

  /// Leaves out producers that are done before another producer starts.
  void reduce(std::vector<std::uint32_t>& producers) const {
    std::vector<std::uint32_t> nodes;
    for (auto p : producers)
      if (nodes.empty() || nodes.back() != tiling_.tasks[p].node) nodes.push_back(tiling_.tasks[p].node);
    std::erase_if(producers, [&](std::uint32_t p) {
      auto const node = tiling_.tasks[p].node;
      return std::any_of(nodes.begin(), nodes.end(), [&](auto later) { return result_.before[later][node]; });
    });
  }

  std::uint32_t set_of(std::vector<std::uint32_t> producers) {
    auto const [at, is_new] = numbers_.try_emplace(producers, static_cast<std::uint32_t>(result_.sets.size()));
    if (is_new) result_.sets.push_back(std::move(producers));
    return at->second;
  }

  graph const& g_;
  tiling const& tiling_;
  std::vector<frontier> frontiers_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;
  dependencies result_;
};

} // namespace

dependencies depend(graph const& g, tiling const& t) { return analysis(g, t).run(); }

} // namespace mk
