#pragma once

/// Products of rows: the inner loops of `linear`. Every sum has `partial_sums` partial sums joined pairwise (rows.hpp);
/// its bits do not depend on the function, the number of rows and columns at once, or the machine.

#include <megakernels/ops/reference/machine.hpp>
#include <megakernels/ops/reference/rows.hpp>

#include <cstddef>
#include <cstdint>

namespace mk::reference {

/// `count` rounded up to a multiple of `partial_sums`. Zeros as terms leave the bits of a sum as they are.
constexpr std::int64_t padded(std::int64_t count) { return (count + partial_sums - 1) / partial_sums * partial_sums; }

/// Columns that `dot_block` takes at a time.
inline constexpr int dot_columns = 4;

/// out[r * out_stride + c] = sum over k of x[r * inner + k] * weight[c * inner + k], for `rows` rows and 4 columns.
/// `inner` is a multiple of `partial_sums`.
template <class Accumulate> struct dot_block {
  Accumulate const* x;
  Accumulate const* weight;
  std::int64_t rows;
  std::int64_t inner;
  Accumulate* out;
  std::int64_t out_stride;
};

void run(dot_block<float> const&, machine = this_machine());
void run(dot_block<double> const&);

/// out[c] = sum over k of x[k] * weight[c, k] for one row x, reading each weight once from where it lies. `x` has
/// padded(inner) elements, zero from `inner` on; row c of the weight starts at `weight + c * row_bytes` and is
/// contiguous. Types: floating ones and int8.
struct dot_stream {
  float const* x;
  data_type type;
  std::byte const* weight;
  std::int64_t row_bytes;
  std::int64_t columns;
  std::int64_t inner;
  float* out;
};

void run(dot_stream const&, machine = this_machine());

} // namespace mk::reference
