#include <megakernels/scheduler/order.hpp>

#include <algorithm>

namespace mk {

std::vector<std::vector<std::uint32_t>> order(placement const& p, machine const& m) {
  std::vector<std::vector<std::uint32_t>> lists(static_cast<std::size_t>(m.workers));
  for (std::uint32_t task = 0; task < p.worker.size(); ++task) lists[p.worker[task]].push_back(task);
  for (auto& list : lists)
    std::stable_sort(list.begin(), list.end(), [&](auto a, auto b) { return p.level[a] < p.level[b]; });
  return lists;
}

} // namespace mk
