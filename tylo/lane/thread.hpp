#pragma once

/// Who a thread is, and what the 32 lanes of its warp do together. PTX ISA: special registers, shfl.sync,
/// bar.warp.sync.

#include <megakernels/tylo/emulator/lane.hpp>
#include <megakernels/tylo/site.hpp>
#include <megakernels/tylo/target.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tylo {

inline constexpr unsigned warp_size = 32;

/// Rank of the thread in its CTA.
TYLO_FN inline unsigned thread_rank() { TYLO_EITHER(return threadIdx.x, return emulator::thread_rank()); }
/// Rank of the CTA in the grid, and their number.
TYLO_FN inline unsigned cta_rank() { TYLO_EITHER(return blockIdx.x, return emulator::cta_rank()); }
TYLO_FN inline unsigned cta_count() { TYLO_EITHER(return gridDim.x, return emulator::cta_count()); }

/// Rank of the thread among the `count` of its CTA that begin with thread `first`. It is one of them.
TYLO_FN inline unsigned rank_from(unsigned first, [[maybe_unused]] unsigned count, site at = site::here()) {
  TYLO_EITHER(return threadIdx.x - first, return emulator::rank_from(first, count, at));
}

TYLO_FN inline unsigned lane_rank() { return thread_rank() % warp_size; }

/// All lanes of the warp have arrived, and see each other's earlier writes.
TYLO_FN inline void sync_warp(site at = site::here()) { TYLO_EITHER(__syncwarp(), emulator::sync_warp(at)); }

namespace detail {
/// A value of up to 8 bytes as a number, and back.
template <class T> std::uint64_t to_word(T const& value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
template <class T> T from_word(std::uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}
} // namespace detail

/// The value of the lane whose rank differs by `mask`. All lanes take part.
template <class T> TYLO_FN T shuffle_xor(T value, unsigned mask, site at = site::here()) {
  TYLO_EITHER(return __shfl_xor_sync(0xFFFFFFFFu, value, static_cast<int>(mask)),
                     return detail::from_word<T>(emulator::shuffle_xor(detail::to_word(value), mask, at)));
}

/// The value of a given lane. All lanes take part.
template <class T> TYLO_FN T shuffle(T value, unsigned from, site at = site::here()) {
  TYLO_EITHER(return __shfl_sync(0xFFFFFFFFu, value, static_cast<int>(from)),
                     return detail::from_word<T>(emulator::shuffle(detail::to_word(value), from, at)));
}

/// Joins the values of lanes pairwise: those 16 lanes apart, then 8, 4, 2, 1, of these distances those whose bits are
/// in `Distances`. `join` is commutative, so that all lanes that are joined get the same bits. All lanes take part.
template <unsigned Distances = warp_size - 1, class T, class Join>
TYLO_FN T join_lanes(T value, Join join, site at = site::here()) {
  static_assert(Distances < warp_size);
#if !defined(__CUDA_ARCH__)
  if constexpr (std::is_empty_v<Join>) // lanes of an emulated warp share the callable
    if (Distances != 0 && emulator::is_batched()) {
      emulator::butterfly(
          &value, sizeof value, Distances,
          [](void* into, void const* with) {
            *static_cast<T*>(into) = Join{}(*static_cast<T*>(into), *static_cast<T const*>(with));
          },
          at);
      return value;
    }
#endif
  for (unsigned apart = warp_size / 2; apart > 0; apart /= 2)
    if ((Distances & apart) != 0) value = join(value, shuffle_xor(value, apart, at));
  return value;
}

/// Bit i: `condition` of lane i. All lanes take part.
TYLO_FN inline std::uint32_t lanes_where(bool condition, site at = site::here()) {
  TYLO_EITHER(return __ballot_sync(0xFFFFFFFFu, condition), return emulator::ballot(condition, at));
}

/// Whether `condition` holds in any lane. All lanes take part.
TYLO_FN inline bool any_lane(bool condition, site at = site::here()) {
  TYLO_EITHER(return __any_sync(0xFFFFFFFFu, condition) != 0, return emulator::ballot(condition, at) != 0);
}

/// Gives the lane's place in the issue order away for about so many nanoseconds.
TYLO_FN inline void pause_ns(unsigned ns, site at = site::here()) {
  TYLO_EITHER(__nanosleep(ns), emulator::pause_ns(ns, at));
}

/// Nanoseconds of a clock that all CTAs of the device share. Coarse: steps of up to a microsecond.
TYLO_FN inline std::uint64_t clock_ns() {
#if defined(__CUDA_ARCH__)
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
#else
  return emulator::clock_ns();
#endif
}

/// Registers of each thread of the calling warpgroup from now on; all its four warps call it, each role once.
/// `Count` is a multiple of 8 from 24 to 256. PTX ISA: setmaxnreg (sm_90a).
template <unsigned Count> TYLO_FN void shrink_registers(site at = site::here()) {
  static_assert(Count % 8 == 0 && Count >= 24 && Count <= 256);
  TYLO_EITHER(asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count)),
              emulator::set_registers(Count, false, at));
}
template <unsigned Count> TYLO_FN void grow_registers(site at = site::here()) {
  static_assert(Count % 8 == 0 && Count >= 24 && Count <= 256);
  TYLO_EITHER(asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count)),
              emulator::set_registers(Count, true, at));
}

} // namespace tylo
