#pragma once

/// Asynchronous copies between global and shared memory: bulk ones, which the copy engine does for one thread, and
/// those of up to 16 bytes, which each thread does for itself. PTX ISA: cp.async.bulk (sm_90), cp.async (sm_80).

#include <megakernels/tylo/emulator/lane.hpp>
#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/site.hpp>
#include <megakernels/tylo/target.hpp>

#include <cstddef>
#include <cstdint>

namespace tylo {

/// Start of the CTA's dynamic shared memory, at a multiple of 1024 bytes.
TYLO_FN inline std::byte* shared_memory() {
#if defined(__CUDA_ARCH__)
  extern __shared__ __align__(1024) unsigned char tylo_shared_memory[];
  return reinterpret_cast<std::byte*>(tylo_shared_memory);
#else
  return emulator::shared_memory();
#endif
}

/// Alignment of both addresses and of the size of a bulk copy, in bytes.
inline constexpr unsigned bulk_alignment = 16;

/// Starts a copy that one thread issues and that completes `bytes` on the barrier. The source must have been written
/// before the kernel, or be ordered by a proxy fence.
TYLO_FN inline void bulk_load(void* to_shared, void const* from_global, unsigned bytes, mbarrier* done,
                              site at = site::here()) {
  TYLO_EITHER(cuda::ptx::cp_async_bulk(cuda::ptx::space_shared, cuda::ptx::space_global, to_shared, from_global, bytes,
                                       &done->word),
              emulator::bulk_load(to_shared, from_global, bytes, &done->word, at));
}

/// The same to several CTAs of the cluster, those whose bits are set in `ctas`: each gets the bytes where this one has
/// `to_shared`, and they complete on its barrier where this one has `done`. sm_90a, sm_100a.
TYLO_FN inline void bulk_load_multicast(void* to_shared, void const* from_global, unsigned bytes, mbarrier* done,
                                        std::uint16_t ctas, site at = site::here()) {
  TYLO_EITHER(cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global, to_shared, from_global, bytes,
                                       &done->word, ctas),
              emulator::bulk_load_multicast(to_shared, from_global, bytes, &done->word, ctas, at));
}

/// Starts a copy from shared to global memory. What threads wrote to the source needs `fence_async_proxy` and a barrier
/// before. The thread that starts it also commits it and waits for it.
TYLO_FN inline void bulk_store(void* to_global, void const* from_shared, unsigned bytes, site at = site::here()) {
  TYLO_EITHER(cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, to_global, from_shared, bytes),
              emulator::bulk_store(to_global, from_shared, bytes, at));
}
/// The thread's bulk stores since the last call are one group.
TYLO_FN inline void commit_bulk_stores(site at = site::here()) {
  TYLO_EITHER(cuda::ptx::cp_async_bulk_commit_group(), emulator::commit_bulk_stores(at));
}
/// All the thread's groups of bulk stores but the last `Pending` have read their sources: these may be overwritten, or
/// the thread may end.
template <unsigned Pending> TYLO_FN void await_bulk_stores_read(site at = site::here()) {
  TYLO_EITHER(cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<Pending>{}),
              emulator::await_bulk_stores(Pending, false, at));
}
/// All the thread's groups of bulk stores but the last `Pending` are done: it sees what they wrote.
template <unsigned Pending> TYLO_FN void await_bulk_stores(site at = site::here()) {
  TYLO_EITHER(cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<Pending>{}),
              emulator::await_bulk_stores(Pending, true, at));
}

/// Starts a copy of 4, 8 or 16 bytes to shared memory: `from_bytes` of the source, then zeros. Both addresses are
/// multiples of `Bytes`; of the source only `from_bytes` are read. After `await_copies` the thread sees it, others
/// after a barrier that comes later.
template <unsigned Bytes>
TYLO_FN void copy_async(void* to_shared, void const* from_global, unsigned from_bytes = Bytes, site at = site::here()) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
#if defined(__CUDA_ARCH__)
  auto const to = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
  auto const from = __cvta_generic_to_global(from_global);
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(from_bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(Bytes), "r"(from_bytes)
                 : "memory");
#else
  emulator::copy_async(to_shared, from_global, Bytes, from_bytes, at);
#endif
}
/// The thread's copies since the last call are one group.
TYLO_FN inline void commit_copies(site at = site::here()) {
  TYLO_EITHER(asm volatile("cp.async.commit_group;" :: : "memory"), emulator::commit_copies(at));
}
/// All the thread's groups of copies but the last `Pending` are done: it sees what they wrote.
template <unsigned Pending> TYLO_FN void await_copies(site at = site::here()) {
  TYLO_EITHER(asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory"), emulator::await_copies(Pending, at));
}

} // namespace tylo
