/// mbarriers: who waits for what, and what a kernel may not do with them.

#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/thread.hpp>

#include "kit.hpp"

namespace mk::test {
namespace {

constexpr auto init_and_meet = [](mbarrier* b, unsigned arrivals) {
  if (thread_rank() == 0) {
    init(b, arrivals);
    publish_barriers();
  }
  sync_cta();
};

TEST(emulator_mbarriers, a_ring_of_two_goes_round) {
  array<unsigned> const out(20);
  expect_clean({.threads = 64, .shared_bytes = 256}, [out = out.data()] {
    auto* const full = reinterpret_cast<mbarrier*>(shared_memory());
    auto* const empty = full + 2;
    auto* const slots = reinterpret_cast<unsigned*>(shared_memory() + 64);
    if (thread_rank() == 0)
      for (int i = 0; i < 2; ++i) {
        init(full + i, 1);
        init(empty + i, 32);
      }
    sync_cta();
    for (unsigned i = 0; i < 20; ++i) {
      auto const slot = i % 2, lap = i / 2 % 2;
      if (thread_rank() == 0) {
        wait(empty + slot, lap ^ 1u);
        slots[slot] = i;
        arrive(full + slot);
      } else if (thread_rank() >= 32) {
        wait(full + slot, lap);
        if (thread_rank() == 40) out[i] = slots[slot];
        arrive(empty + slot);
      }
    }
  });
  for (unsigned i = 0; i < 20; ++i) EXPECT_EQ(out[i], i);
}

TEST(emulator_mbarriers, an_arrival_is_missing) {
  expect_fault(fault_kind::deadlock, {"1 of 33 arrivals", "parity 0", "mbarriers_test.cpp"},
               {.threads = 64, .shared_bytes = 64}, [] {
                 auto* const b = reinterpret_cast<mbarrier*>(shared_memory());
                 init_and_meet(b, 33);
                 if (thread_rank() < 32)
                   arrive(b);
                 else
                   wait(b, 0);
               });
}

TEST(emulator_mbarriers, bytes_that_never_come) {
  expect_fault(fault_kind::deadlock, {"0 of 1 arrivals and 64 bytes are missing"}, {.shared_bytes = 64}, [] {
    auto* const b = reinterpret_cast<mbarrier*>(shared_memory());
    init_and_meet(b, 1);
    if (thread_rank() == 0) arrive_expecting(b, 64);
    wait(b, 0);
  });
}

TEST(emulator_mbarriers, a_waiter_that_skips_phases) {
  expect_fault(fault_kind::phase_aliasing, {"phase 0 by parity 0 when 3 phases have ended"},
               {.threads = 64, .shared_bytes = 64}, [] {
                 auto* const b = reinterpret_cast<mbarrier*>(shared_memory());
                 init_and_meet(b, 1);
                 if (thread_rank() == 0)
                   for (int i = 0; i < 3; ++i) arrive(b);
                 sync_cta();
                 if (thread_rank() == 32) (void)try_wait(b, 0);
               });
}

TEST(emulator_mbarriers, memory_that_is_no_barrier_and_a_barrier_that_is_no_memory) {
  expect_fault(fault_kind::misuse, {"holds no mbarrier"}, {.shared_bytes = 64}, [] {
    if (thread_rank() == 0) arrive(reinterpret_cast<mbarrier*>(shared_memory()));
  });
  expect_fault(fault_kind::misuse, {"is an mbarrier"}, {.shared_bytes = 64}, [] {
    auto* const b = reinterpret_cast<mbarrier*>(shared_memory());
    init_and_meet(b, 1);
    if (thread_rank() == 3) b->word = 0;
  });
}

TEST(emulator_mbarriers, used_before_its_initialisation_is_known) {
  expect_fault(fault_kind::race, {"initialisation by CTA 0, thread 0"}, {.threads = 64, .shared_bytes = 64}, [] {
    auto* const b = reinterpret_cast<mbarrier*>(shared_memory());
    if (thread_rank() == 0) init(b, 1);
    if (thread_rank() == 32) {
      pause_ns(100000);
      arrive(b);
    }
  });
}

} // namespace
} // namespace mk::test
