#pragma once

/// CTAs that run at the same time on neighbouring multiprocessors and reach each other's shared memory.
/// PTX ISA: cluster_ctarank, barrier.cluster, mapa, mbarrier.arrive (shared::cluster).

#include <megakernels/tylo/emulator/lane.hpp>
#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/site.hpp>
#include <megakernels/tylo/target.hpp>

#include <cstdint>

namespace tylo {

/// Rank of the CTA in its cluster, and their number; 0 and 1 in a launch without clusters.
TYLO_FN inline unsigned cluster_rank() {
  TYLO_EITHER(return cuda::ptx::get_sreg_cluster_ctarank(), return emulator::cluster_rank());
}
TYLO_FN inline unsigned cluster_size() {
  TYLO_EITHER(return cuda::ptx::get_sreg_cluster_nctarank(), return emulator::cluster_size());
}

/// The multiprocessor that runs the CTA.
TYLO_FN inline unsigned multiprocessor_rank() {
  TYLO_EITHER(return cuda::ptx::get_sreg_smid(), return emulator::multiprocessor_rank());
}

/// All threads of all CTAs of the cluster have arrived, and see each other's earlier writes. Comes before the first
/// access to another CTA's shared memory, and after the last: a CTA that has ended has none.
TYLO_FN inline void sync_cluster(site at = site::here()) {
#if defined(__CUDA_ARCH__)
  cuda::ptx::barrier_cluster_arrive(cuda::ptx::sem_release);
  cuda::ptx::barrier_cluster_wait(cuda::ptx::sem_acquire);
#else
  emulator::sync_cluster(at);
#endif
}

/// The address at which CTA `rank` of the cluster has what this one has at `mine`, in shared memory. Ordinary loads and
/// stores through it reach the other CTA.
template <class T> TYLO_FN T* peer_address(T* mine, unsigned rank, site at = site::here()) {
#if defined(__CUDA_ARCH__)
  T* theirs;
  asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
  return theirs;
#else
  return static_cast<T*>(emulator::peer_address(mine, rank, at));
#endif
}

/// Arrives at the barrier that CTA `rank` of the cluster has where this one has `b`.
TYLO_FN inline void arrive_at_peer(mbarrier* b, unsigned rank, site at = site::here()) {
#if defined(__CUDA_ARCH__)
  std::uint32_t theirs;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(theirs)
      : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(b))), "r"(rank));
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(theirs) : "memory");
#else
  emulator::arrive_remote(&b->word, rank, at);
#endif
}

} // namespace tylo
