#pragma once

/// A kernel in which one warpgroup multiplies one tile, and which shows the sums as the threads hold them.

#include <megakernels/tylo/numbers.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace mk::test {

/// Rows of A, columns of both, in one tile; B has 8 or 64 rows.
inline constexpr std::size_t product_side = 64;

struct product_arguments {
  tylo::bf16 const* a;   ///< [64, 64]
  tylo::bf16 const* b;   ///< [columns, 64]: B transposed
  float const* initial;  ///< [64, columns]: what the sums start from; null: from nothing
  float* matrix;         ///< [64, columns], written through the ownership of sums
  float* by_thread;      ///< [128, columns / 2]: value i of thread t
  std::uint32_t columns; ///< 8 or 64
};

cudaError_t start_product(product_arguments const&, cudaStream_t);

} // namespace mk::test
