#include <megakernels/scheduler/memory.hpp>
#include <megakernels/scheduler/program/program.hpp>

#include <algorithm>

namespace mk {
namespace {

/// The nodes that touch each value (windows count for their base).
std::vector<std::vector<std::uint32_t>> users_of(graph const& g) {
  std::vector<std::vector<std::uint32_t>> users(g.values().size());
  for (std::uint32_t n = 0; n < g.nodes().size(); ++n)
    for (auto operand : g.nodes()[n].operands) {
      if (operand < 0) continue;
      auto const& v = g.values()[static_cast<std::size_t>(operand)];
      auto& list = users[static_cast<std::size_t>(v.base < 0 ? operand : v.base)];
      if (list.empty() || list.back() != n) list.push_back(n);
    }
  return users;
}

bool all_before(dependencies const& d, std::vector<std::uint32_t> const& earlier,
                std::vector<std::uint32_t> const& later) {
  return std::all_of(later.begin(), later.end(), [&](auto y) {
    return std::all_of(earlier.begin(), earlier.end(), [&](auto x) { return d.before[y][x]; });
  });
}

struct block {
  std::uint64_t begin;
  std::uint64_t end;
  std::size_t value;
};

} // namespace

memory_plan plan_memory(graph const& g, dependencies const& d) {
  auto const users = users_of(g);
  memory_plan plan{.offsets = std::vector<std::uint64_t>(g.values().size()), .workspace_bytes = 0};
  std::vector<block> placed; // in rising order of `begin`
  for (std::size_t v = 0; v < g.values().size(); ++v) {
    auto const& info = g.values()[v];
    if (!is_intermediate(info)) continue;
    auto const bytes = span_bytes(info.desc);
    auto const size = (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
    std::uint64_t at = 0;
    for (auto const& b : placed) {
      if (b.end <= at || at + size <= b.begin) continue;
      if (!all_before(d, users[b.value], users[v]) && !all_before(d, users[v], users[b.value])) at = b.end;
    }
    plan.offsets[v] = at;
    plan.workspace_bytes = std::max(plan.workspace_bytes, at + size);
    if (size == 0) continue;
    block const mine{at, at + size, v};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), mine,
                                   [](block const& a, block const& b) { return a.begin < b.begin; }),
                  mine);
  }
  return plan;
}

} // namespace mk
