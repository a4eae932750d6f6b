#pragma once

/// A kernel that loads boxes through a table of descriptors and shows what shared memory then holds.

#include <megakernels/tylo/lane/tensor_copy.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace mk::test {

/// What a byte of shared memory is before the load.
inline constexpr unsigned char untouched = 0xCD;

struct tensor_load_arguments {
  tylo::tensor_map const* map;
  std::int32_t at[tylo::max_tensor_map_rank]; ///< innermost axis first
  unsigned rank;                              ///< 2 or 3
  unsigned box_bytes;
  unsigned shared_bytes; ///< that are shown, a multiple of 16, the box first
  std::byte* shown;      ///< of each round
  unsigned rounds;       ///< the load is done so often
  std::uint32_t* begin;  ///< mapped host memory: round r waits until it is r
  std::uint32_t* ended;  ///< mapped host memory: rounds that have ended
  std::uint32_t* late;   ///< set where a wait took more than two seconds
};

cudaError_t start_tensor_load(tensor_load_arguments const&, cudaStream_t);

} // namespace mk::test
