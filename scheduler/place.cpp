#include <megakernels/scheduler/place.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

namespace mk {
namespace {

/// Levels of tasks. Sets are shared by many tasks, so each set's level is computed once.
std::vector<std::uint32_t> levels_of(tiling const& t, dependencies const& d) {
  std::vector<std::uint32_t> level(t.tasks.size());
  std::vector<std::uint32_t> set_level(d.sets.size());
  std::vector<bool> known(d.sets.size());
  for (std::size_t i = 0; i < t.tasks.size(); ++i) // producers come before their consumers
    for (auto set : d.waits[i]) {
      if (!known[set])
        for (auto p : d.sets[set]) set_level[set] = std::max(set_level[set], level[p] + 1);
      known[set] = true;
      level[i] = std::max(level[i], set_level[set]);
    }
  return level;
}

struct load {
  double seconds;
  std::uint32_t worker;
  friend bool operator>(load const& a, load const& b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.worker > b.worker;
  }
};

using loads = std::priority_queue<load, std::vector<load>, std::greater<>>;

loads idle(std::int64_t workers) {
  std::vector<load> all;
  for (std::uint32_t w = 0; w < static_cast<std::uint32_t>(workers); ++w) all.push_back({0, w});
  return loads(std::greater<>(), std::move(all));
}

} // namespace

placement place(tiling const& t, dependencies const& d, machine const& m) {
  placement result{.worker = std::vector<std::uint32_t>(t.tasks.size()), .level = levels_of(t, d)};
  std::map<std::uint32_t, loads> by_level;
  for (std::size_t i = 0; i < t.tasks.size(); ++i) {
    auto& queue = by_level.try_emplace(result.level[i], idle(m.workers)).first->second;
    auto least = queue.top();
    queue.pop();
    result.worker[i] = least.worker;
    least.seconds += t.tasks[i].seconds;
    queue.push(least);
  }
  return result;
}

} // namespace mk
