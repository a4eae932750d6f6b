#pragma once

/// Who a thread is, and what the 32 lanes of its warp do together. PTX ISA: special registers, shfl.sync,
/// bar.warp.sync.

#include <megakernels/tylo/target.hpp>

#include <cstdint>

namespace tylo {

inline constexpr unsigned warp_size = 32;

/// Rank of the thread in its CTA.
TYLO_FN inline unsigned thread_rank() { TYLO_EITHER(return threadIdx.x, outside_kernel()); }
/// Rank of the CTA in the grid, and their number.
TYLO_FN inline unsigned cta_rank() { TYLO_EITHER(return blockIdx.x, outside_kernel()); }
TYLO_FN inline unsigned cta_count() { TYLO_EITHER(return gridDim.x, outside_kernel()); }

TYLO_FN inline unsigned lane_rank() { return thread_rank() % warp_size; }

/// All lanes of the warp have arrived, and see each other's earlier writes.
TYLO_FN inline void sync_warp() { TYLO_EITHER(__syncwarp(), outside_kernel()); }

/// The value of the lane whose rank differs by `mask`. All lanes take part.
template <class T> TYLO_FN T shuffle_xor(T value, unsigned mask) {
  TYLO_EITHER(return __shfl_xor_sync(0xFFFFFFFFu, value, static_cast<int>(mask)), outside_kernel(value, mask));
}

/// The value of a given lane. All lanes take part.
template <class T> TYLO_FN T shuffle(T value, unsigned from) {
  TYLO_EITHER(return __shfl_sync(0xFFFFFFFFu, value, static_cast<int>(from)), outside_kernel(value, from));
}

/// Whether `condition` holds in any lane. All lanes take part.
TYLO_FN inline bool any_lane(bool condition) {
  TYLO_EITHER(return __any_sync(0xFFFFFFFFu, condition) != 0, outside_kernel(condition));
}

/// Bit i: `condition` of lane i. All lanes take part.
TYLO_FN inline std::uint32_t lanes_where(bool condition) {
  TYLO_EITHER(return __ballot_sync(0xFFFFFFFFu, condition), outside_kernel(condition));
}

/// Gives the lane's place in the issue order away for about so many nanoseconds.
TYLO_FN inline void pause_ns(unsigned ns) { TYLO_EITHER(__nanosleep(ns), outside_kernel(ns)); }

/// Nanoseconds of a clock that all CTAs of the device share. Coarse: steps of up to a microsecond.
TYLO_FN inline std::uint64_t clock_ns() {
#if defined(__CUDA_ARCH__)
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
#else
  outside_kernel();
#endif
}

/// Registers of each thread of the calling warpgroup from now on; all its four warps call it, each role once.
/// `Count` is a multiple of 8 from 24 to 256. PTX ISA: setmaxnreg (sm_90a).
template <unsigned Count> TYLO_FN void shrink_registers() {
  static_assert(Count % 8 == 0 && Count >= 24 && Count <= 256);
  TYLO_EITHER(asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count)), outside_kernel());
}
template <unsigned Count> TYLO_FN void grow_registers() {
  static_assert(Count % 8 == 0 && Count >= 24 && Count <= 256);
  TYLO_EITHER(asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count)), outside_kernel());
}

} // namespace tylo
