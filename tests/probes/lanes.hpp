#pragma once

/// The kernels of tests/emulator/lane_kernels.hpp on a GPU.

#include "../emulator/lane_kernels.hpp"

#include <cuda_runtime_api.h>

namespace mk::test {

enum class factor : std::uint8_t { bf16, fp16 };
cudaError_t start_warp_product(warp_product_arguments const&, factor);
/// `count` 1, 2 or 4.
cudaError_t start_move_matrices(matrices_arguments const&, unsigned count, bool load_transposed, bool store_transposed);
cudaError_t start_round_trip(round_trip_arguments const&);
cudaError_t start_multicast(multicast_arguments const&);
/// `columns` 8 or 64.
cudaError_t start_group_product(group_product_arguments const&, unsigned columns);
cudaError_t start_placed_product(placed_product_arguments const&, unsigned columns);

} // namespace mk::test
