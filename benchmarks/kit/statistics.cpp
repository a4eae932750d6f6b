#include "kit/statistics.hpp"

#include <megakernels/ops/error.hpp>

#include <algorithm>

namespace mk::bench {
namespace {

double percentile(std::vector<double> const& sorted, double share) {
  auto const place = share * static_cast<double>(sorted.size() - 1);
  auto const below = static_cast<std::size_t>(place);
  auto const above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

} // namespace

summary summarize(std::vector<double> measurements) {
  if (measurements.empty()) throw error("a figure needs at least one measurement");
  std::sort(measurements.begin(), measurements.end());
  return {.median = percentile(measurements, 0.5),
          .p10 = percentile(measurements, 0.1),
          .p90 = percentile(measurements, 0.9),
          .runs = measurements.size()};
}

std::vector<double> rates(double amount, std::vector<double> seconds) {
  for (auto& s : seconds) s = amount / s;
  return seconds;
}

} // namespace mk::bench
