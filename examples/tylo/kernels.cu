/// Functions of these examples as kernels of a GPU: compiled, and not run.

#include <megakernels/tylo/fragment/memory.hpp>

#include "columns.hpp"
#include "first_kernel.hpp"

// [global]
/// For a CTA of four warps.
__global__ void normalize_rows(tylo::bf16 const* x, tylo::bf16* y, int rows, int pitch) {
  normalize(x, y, rows, pitch, 4);
}
// [/global]

__global__ void columns_of_rows(int* to) {
  constexpr auto rows = tylo::local<tylo::axis::columns>(8);
  store(tylo::this_warp{}, tylo::tile_of(to, tylo::row_major<32, 8>()), columns_of<rows>(tylo::this_warp{}));
}
