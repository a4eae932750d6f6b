#pragma once

#include <cstddef>
#include <vector>

namespace mk::bench {

/// What is told of repeated measurements.
struct summary {
  double median = 0;
  double p10 = 0; ///< a tenth of the measurements are smaller
  double p90 = 0; ///< a tenth are larger
  std::size_t runs = 0;
};

/// Percentiles between two measurements are interpolated. Throws mk::error where there is no measurement.
summary summarize(std::vector<double> measurements);

/// `amount` over each time: rates from seconds.
std::vector<double> rates(double amount, std::vector<double> seconds);

} // namespace mk::bench
