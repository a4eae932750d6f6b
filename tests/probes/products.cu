#include <megakernels/tylo/lane/async_proxy.hpp>
#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/thread.hpp>
#include <megakernels/tylo/lane/wgmma.hpp>

#include "products.hpp"

namespace mk::test {
namespace {

constexpr unsigned tile_bytes = 8192;
constexpr unsigned shared_bytes = 2 * tile_bytes;

/// Rows of 64 elements into a swizzled tile.
TYLO_FN void fill_tile(std::byte* tile, tylo::bf16 const* from, unsigned rows, unsigned thread) {
  for (auto i = thread; i < rows * product_side; i += tylo::warpgroup_size) {
    auto const at = i * 2;
    *reinterpret_cast<tylo::bf16*>(tile + (at ^ (at >> 7 & 7) << 4)) = from[i];
  }
}

template <unsigned N> TYLO_FN void multiply_tile(product_arguments const& arguments, std::byte* a, std::byte* b) {
  auto const thread = tylo::thread_rank();
  tylo::accumulator<N> sums;
  for (unsigned i = 0; i < N / 2; ++i) {
    auto const at = tylo::accumulator_row(thread, i) * N + tylo::accumulator_column(thread, i);
    sums.values[i] = arguments.initial != nullptr ? arguments.initial[at] : -77.0f;
  }
  tylo::fence_products();
  for (unsigned k = 0; k < product_side; k += tylo::product_depth)
    tylo::multiply(sums, tylo::factor_of(a, k), tylo::factor_of(b, k), k > 0 || arguments.initial != nullptr);
  tylo::commit_products();
  tylo::await_products<0>(sums);
  for (unsigned i = 0; i < N / 2; ++i) {
    arguments.matrix[tylo::accumulator_row(thread, i) * N + tylo::accumulator_column(thread, i)] = sums.values[i];
    arguments.by_thread[thread * (N / 2) + i] = sums.values[i];
  }
}

__global__ void __launch_bounds__(tylo::warpgroup_size) product_kernel(product_arguments const arguments) {
  auto* const a = tylo::shared_memory();
  auto* const b = a + tile_bytes;
  fill_tile(a, arguments.a, product_side, tylo::thread_rank());
  fill_tile(b, arguments.b, arguments.columns, tylo::thread_rank());
  tylo::fence_async_proxy();
  tylo::sync_cta();
  if (arguments.columns == 8)
    multiply_tile<8>(arguments, a, b);
  else
    multiply_tile<64>(arguments, a, b);
}

} // namespace

cudaError_t start_product(product_arguments const& arguments, cudaStream_t stream) {
  product_kernel<<<1, tylo::warpgroup_size, shared_bytes, stream>>>(arguments);
  return cudaGetLastError();
}

} // namespace mk::test
