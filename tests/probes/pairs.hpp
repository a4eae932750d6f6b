#pragma once

/// A kernel of large CTAs in clusters: all meet at a counter, and neighbours exchange a word.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace mk::test {

inline constexpr unsigned pair_threads = 384;
inline constexpr unsigned pair_shared_bytes = 200 * 1024;

struct pair_state {
  std::uint32_t arrived;   ///< CTAs of all launches so far
  std::uint32_t wrong;     ///< words of neighbours that were not what they should be
  std::uint32_t late;      ///< CTAs that waited for the others for more than two seconds
  std::uint32_t misplaced; ///< clusters of another size, or with another rank than the grid's order gives
};

struct pair_arguments {
  pair_state* state;
  std::uint32_t* multiprocessors; ///< of each CTA
  std::uint32_t cluster;          ///< expected size
};

/// The kernel, for launches with attributes.
void const* pair_kernel();

} // namespace mk::test
