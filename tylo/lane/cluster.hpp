#pragma once

/// CTAs that run at the same time on neighbouring multiprocessors and reach each other's shared memory.
/// PTX ISA: cluster_ctarank, barrier.cluster, mapa.

#include <megakernels/tylo/target.hpp>

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda/ptx>
#endif

namespace tylo {

/// Rank of the CTA in its cluster, and their number; 0 and 1 in a launch without clusters.
TYLO_FN inline unsigned cluster_rank() { TYLO_EITHER(return cuda::ptx::get_sreg_cluster_ctarank(), outside_kernel()); }
TYLO_FN inline unsigned cluster_size() { TYLO_EITHER(return cuda::ptx::get_sreg_cluster_nctarank(), outside_kernel()); }

/// The multiprocessor that runs the CTA.
TYLO_FN inline unsigned multiprocessor_rank() { TYLO_EITHER(return cuda::ptx::get_sreg_smid(), outside_kernel()); }

/// All threads of all CTAs of the cluster have arrived, and see each other's earlier writes. Comes before the first
/// access to another CTA's shared memory, and after the last: a CTA that has ended has none.
TYLO_FN inline void sync_cluster() {
#if defined(__CUDA_ARCH__)
  cuda::ptx::barrier_cluster_arrive(cuda::ptx::sem_release);
  cuda::ptx::barrier_cluster_wait(cuda::ptx::sem_acquire);
#else
  outside_kernel();
#endif
}

/// The address at which CTA `rank` of the cluster has what this one has at `mine`, in shared memory. Ordinary loads and
/// stores through it reach the other CTA.
template <class T> TYLO_FN T* peer_address(T* mine, unsigned rank) {
#if defined(__CUDA_ARCH__)
  T* theirs;
  asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
  return theirs;
#else
  outside_kernel(mine, rank);
#endif
}

} // namespace tylo
