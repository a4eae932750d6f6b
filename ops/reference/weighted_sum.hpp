#pragma once

/// Sums of rows with weights: the second product of attention. Terms are added one by one in the order of the rows;
/// the bits do not depend on how the rows are divided among calls, or on the machine.

#include <megakernels/ops/reference/machine.hpp>

#include <cstdint>

namespace mk::reference {

/// sum[r * width + i] += weight[r * weight_stride + j] * value[j * width + i], for 0 <= j < count in ascending order,
/// for `rows` rows. `width` is a multiple of `partial_sums` (rows.hpp).
template <class Accumulate> struct weighted_sum {
  Accumulate const* weight;
  std::int64_t weight_stride;
  std::int64_t rows;
  Accumulate const* value;
  std::int64_t count;
  std::int64_t width;
  Accumulate* sum;
};

void run(weighted_sum<float> const&, machine = this_machine());
void run(weighted_sum<double> const&);

} // namespace mk::reference
