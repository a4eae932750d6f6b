#pragma once

/// Division of 64-bit counts by shifts: what the compiler makes of `/` is a function call on a GPU, and calls keep a
/// kernel's other code from being scheduled well.

#include <megakernels/ops/device/rolled.hpp>
#include <megakernels/tylo/target.hpp>

#include <cstdint>

namespace mk::handlers {

/// value / by, for 0 <= value < 2^62 and 0 < by < 2^62. As many steps as the result has bits.
TYLO_FN inline std::int64_t quotient(std::int64_t value, std::int64_t by) {
  std::int64_t unit = 1;
  MK_ROLLED
  for (; by <= value; by *= 2) unit *= 2;
  std::int64_t result = 0;
  MK_ROLLED
  for (; unit > 1; value -= value >= by ? by : 0) {
    by /= 2;
    unit /= 2;
    result += value >= by ? unit : 0;
  }
  return result;
}

} // namespace mk::handlers
