#pragma once

/// Copies of boxes of a tensor from global to shared memory, described by tensor maps. PTX ISA: cp.async.bulk.tensor,
/// fence.proxy.tensormap.

#include <megakernels/tylo/emulator/lane.hpp>
#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/site.hpp>
#include <megakernels/tylo/target.hpp>

#include <cstdint>

namespace tylo {

/// A tensor and a box of it as the copy engine reads them; the driver encodes it (CUtensorMap). Opaque.
struct alignas(128) tensor_map {
  std::uint64_t words[16];
};
static_assert(sizeof(tensor_map) == 128);

/// Most axes of a tensor map.
inline constexpr unsigned max_tensor_map_rank = 5;

/// Before the first use of a map in global memory that was written while this kernel was running, or may have been:
/// what this thread has been told of (by an acquire) is what the copies that it starts see. The scope is the system,
/// since the host writes maps.
TYLO_FN inline void acquire_tensor_map(tensor_map const* map, site at = site::here()) {
  TYLO_EITHER(cuda::ptx::fence_proxy_tensormap_generic(cuda::ptx::sem_acquire, cuda::ptx::scope_sys, map,
                                                       cuda::ptx::n32_t<sizeof(tensor_map)>{}),
              emulator::acquire_tensor_map(map, at));
}

/// Starts the copy of one box, issued by one thread; it completes the bytes of the whole box on the barrier. `at` is
/// the first element of the box, innermost axis first; it may be negative or past the end. On the innermost axis it is
/// a multiple of 16 bytes: others end the kernel with an illegal instruction (seen on sm_90, the ISA does not say).
///
/// Meaning: element (b0, b1, ...) of the box, row-major and dense in `to_shared`, becomes element (at + b) of the
/// tensor, or zero outside of it; a swizzled map then stores byte `i` of the box (from an address that is a multiple of
/// 1024) at `i ^ (i >> 7 & 7) << 4` for 128 bytes, `i ^ (i >> 7 & 3) << 4` for 64, `i ^ (i >> 7 & 1) << 4` for 32.
/// `to_shared` is a multiple of 128 bytes, for a swizzled map of 1024, 512 or 256: where its pattern starts again. The
/// tensor is ordered as for `bulk_load`.
template <unsigned Rank>
TYLO_FN void tensor_load(void* to_shared, tensor_map const* map, std::int32_t const (&at)[Rank], mbarrier* done,
                         site place = site::here()) {
  static_assert(Rank >= 1 && Rank <= max_tensor_map_rank);
  TYLO_EITHER(cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_shared, cuda::ptx::space_global, to_shared, map, at,
                                              &done->word),
              emulator::tensor_load(to_shared, map, at, Rank, &done->word, place));
}

} // namespace tylo
