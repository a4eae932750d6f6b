#pragma once

/// Barriers inside a CTA: named ones for fixed sets of warps, and mbarriers in shared memory, which also count bytes of
/// asynchronous copies. PTX ISA: bar.sync, bar.arrive, mbarrier.

#include <megakernels/tylo/emulator/lane.hpp>
#include <megakernels/tylo/site.hpp>
#include <megakernels/tylo/target.hpp>

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda/ptx>
#endif

namespace tylo {

/// All threads of the CTA have arrived, and see each other's earlier writes.
TYLO_FN inline void sync_cta(site at = site::here()) { TYLO_EITHER(__syncthreads(), emulator::sync_cta(at)); }

/// `threads` (a multiple of 32) threads that name the same barrier, 1 to 15, have arrived, and see each other's writes.
TYLO_FN inline void sync_named(unsigned barrier, unsigned threads, site at = site::here()) {
  TYLO_EITHER(asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory"),
              emulator::sync_named(barrier, threads, at));
}
/// Counts as one of the `threads` without waiting for the others.
TYLO_FN inline void arrive_named(unsigned barrier, unsigned threads, site at = site::here()) {
  TYLO_EITHER(asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory"),
              emulator::arrive_named(barrier, threads, at));
}

/// A barrier word in shared memory. A phase ends when as many arrivals as it was initialised with have come, and all
/// bytes that were announced. Phases are told apart by their parity: a waiter may be one phase behind, never two.
struct mbarrier {
  std::uint64_t word;
};

/// Once, by one thread, before any use; `publish_barriers` and a barrier of the CTA come between.
TYLO_FN inline void init(mbarrier* b, unsigned arrivals, site at = site::here()) {
  TYLO_EITHER(cuda::ptx::mbarrier_init(&b->word, arrivals), emulator::init_mbarrier(&b->word, arrivals, at));
}
/// Makes initialised barriers visible to the asynchronous copies of the CTA.
TYLO_FN inline void publish_barriers(site at = site::here()) {
  TYLO_EITHER(cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster),
              emulator::publish_mbarriers(at));
}

TYLO_FN inline void arrive(mbarrier* b, site at = site::here()) {
  TYLO_EITHER((void)cuda::ptx::mbarrier_arrive(&b->word), emulator::arrive_mbarrier(&b->word, at));
}
/// Arrives, and announces bytes of copies that complete on this barrier in the same phase.
TYLO_FN inline void arrive_expecting(mbarrier* b, unsigned bytes, site at = site::here()) {
  TYLO_EITHER((void)cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cta,
                                                         cuda::ptx::space_shared, &b->word, bytes),
              emulator::arrive_expecting(&b->word, bytes, at));
}
/// Whether the phase of this parity has ended; may wait a short while for it. Then everything that was done before the
/// arrivals, and all announced bytes, are visible.
TYLO_FN inline bool try_wait(mbarrier* b, unsigned parity, site at = site::here()) {
  TYLO_EITHER(return cuda::ptx::mbarrier_try_wait_parity(&b->word, parity),
                     return emulator::try_wait(&b->word, parity, at));
}
/// Waits until it has.
TYLO_FN inline void wait(mbarrier* b, unsigned parity, site at = site::here()) {
  TYLO_EITHER(while (!try_wait(b, parity, at)){}, emulator::wait(&b->word, parity, at));
}

} // namespace tylo
