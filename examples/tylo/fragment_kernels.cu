/// Kernels of fragments for a GPU: compiled, and not run.

#include "fragments.hpp"
#include "online_softmax.hpp"
#include "packing.hpp"
#include "reductions.hpp"

namespace examples {

using tylo::bf16;

__global__ void scaled_relu(bf16 const* x, bf16* y, int rows, int columns, float scale) {
  fragments::scaled_relu(x, y, rows, columns, scale);
}
__global__ void gates(float const* x, float* y, float slope) {
  using namespace tylo;
  auto const v = load<fragments::tile_c>(this_warp{}, tile_of<16>(x, row_major<16, 64>()), 0.0f);
  store(this_warp{}, tile_of<16>(y, row_major<16, 64>()), fragments::gates(v, v * 2.0f, slope));
}
__global__ void centre_rows(float const* x, float const* bias, float* y) {
  fragments::centre_rows<fragments::tile_c>(x, bias, y);
}
__global__ void running_sums(float const* x, float* y) { fragments::running_sums(x, y); }

__global__ void norm_of_rows(float const* x, float* y, int rows, int columns, unsigned warps_of_cta) {
  reductions::norm_of_rows(x, y, rows, columns, 1e-6f, warps_of_cta);
}
__global__ void sums_of_two_rows(float const* x, float* sums) { reductions::sums_of_two_rows(x, sums); }
__global__ void write_places(float const* x, int* places) { reductions::write_places<fragments::mma_c>(x, places); }
__global__ void write_sums(float const* x, float* sums) { reductions::write_sums<reductions::row_of_warp>(x, sums); }

__global__ void quantize(float const* x, tylo::e4m3* codes, float* scales, int rows) {
  packing::quantize(x, codes, scales, rows);
}
__global__ void two_products(bf16 const* x, bf16 const* w, bf16 const* u, float* y, float scale) {
  packing::two_products(x, w, u, y, scale);
}

__global__ void softmax_by_lanes(float const* x, float* y, int rows, int columns, float scale, int warps_of_cta) {
  softmax::softmax_by_lanes(x, y, rows, columns, scale, warps_of_cta);
}
__global__ void softmax_by_warps(bf16 const* x, bf16* y, int rows, int columns, float scale, int warps_of_cta) {
  softmax::softmax_by_warps(x, y, rows, columns, scale, warps_of_cta);
}
__global__ void product_and_softmax(bf16 const* a, bf16 const* b, float scale, float const* bias, int columns, bf16* y,
                                    float* log_sums) {
  softmax::product_and_softmax<softmax::sums_of_cta>(a, b, scale, bias, columns, y, log_sums);
}
__global__ void attend(float const* q, float const* k, float const* v, float* o, int keys, float scale) {
  softmax::attend(q, k, v, o, keys, scale);
}

} // namespace examples
