#include "lanes.hpp"

namespace mk::test {
namespace {

template <class T> __global__ void warp_product_kernel(warp_product_arguments const g) { warp_product<T>(g); }

template <unsigned Count, bool LoadTransposed, bool StoreTransposed>
__global__ void move_matrices_kernel(matrices_arguments const g) {
  move_matrices<Count, LoadTransposed, StoreTransposed>(g);
}

__global__ void __launch_bounds__(round_trip_threads) round_trip_kernel(round_trip_arguments const g) { round_trip(g); }

__global__ void __cluster_dims__(2) __launch_bounds__(multicast_threads) multicast_kernel(multicast_arguments const g) {
  multicast(g);
}

template <unsigned N>
__global__ void __launch_bounds__(tylo::warpgroup_size) group_product_kernel(group_product_arguments const g) {
  group_product<N>(g);
}

template <unsigned N>
__global__ void __launch_bounds__(tylo::warpgroup_size) placed_product_kernel(placed_product_arguments const g) {
  placed_product<N>(g);
}

template <unsigned Count> cudaError_t start_count(matrices_arguments const& g, bool load, bool store) {
  if (load && store)
    move_matrices_kernel<Count, true, true><<<1, tylo::warp_size, matrices_shared>>>(g);
  else if (load)
    move_matrices_kernel<Count, true, false><<<1, tylo::warp_size, matrices_shared>>>(g);
  else if (store)
    move_matrices_kernel<Count, false, true><<<1, tylo::warp_size, matrices_shared>>>(g);
  else
    move_matrices_kernel<Count, false, false><<<1, tylo::warp_size, matrices_shared>>>(g);
  return cudaGetLastError();
}

} // namespace

cudaError_t start_warp_product(warp_product_arguments const& g, factor type) {
  if (type == factor::bf16)
    warp_product_kernel<tylo::bf16><<<1, tylo::warp_size, warp_product_shared>>>(g);
  else
    warp_product_kernel<tylo::fp16><<<1, tylo::warp_size, warp_product_shared>>>(g);
  return cudaGetLastError();
}

cudaError_t start_move_matrices(matrices_arguments const& g, unsigned count, bool load_transposed,
                                bool store_transposed) {
  if (count == 1) return start_count<1>(g, load_transposed, store_transposed);
  if (count == 2) return start_count<2>(g, load_transposed, store_transposed);
  return start_count<4>(g, load_transposed, store_transposed);
}

cudaError_t start_round_trip(round_trip_arguments const& g) {
  round_trip_kernel<<<1, round_trip_threads, round_trip_shared(g.chunk_words)>>>(g);
  return cudaGetLastError();
}

cudaError_t start_multicast(multicast_arguments const& g) {
  multicast_kernel<<<2, multicast_threads, multicast_shared(g.half_words)>>>(g);
  return cudaGetLastError();
}

cudaError_t start_group_product(group_product_arguments const& g, unsigned columns) {
  if (columns == 8)
    group_product_kernel<8><<<1, tylo::warpgroup_size, group_product_shared>>>(g);
  else
    group_product_kernel<64><<<1, tylo::warpgroup_size, group_product_shared>>>(g);
  return cudaGetLastError();
}

cudaError_t start_placed_product(placed_product_arguments const& g, unsigned columns) {
  if (columns == 8)
    placed_product_kernel<8><<<1, tylo::warpgroup_size, placed_product_shared>>>(g);
  else
    placed_product_kernel<64><<<1, tylo::warpgroup_size, placed_product_shared>>>(g);
  return cudaGetLastError();
}

} // namespace mk::test
