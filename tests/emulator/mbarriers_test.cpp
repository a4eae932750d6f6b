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
  auto const late_by = [](unsigned parity) {
    return [=] {
      auto* const b = reinterpret_cast<mbarrier*>(shared_memory());
      init_and_meet(b, 1);
      if (thread_rank() == 0)
        for (unsigned i = 0; i < 3 - parity; ++i) arrive(b);
      if (thread_rank() == 32) {
        pause_ns(100000);
        (void)try_wait(b, parity);
      }
    };
  };
  grid const g{.threads = 64, .shared_bytes = 64};
  expect_fault(fault_kind::phase_aliasing, {"phase 0 by parity 0 when 3 phases have ended"}, g, late_by(0));
  expect_fault(fault_kind::phase_aliasing, {"the phase before the first by parity 1 when 2 phases have ended"}, g,
               late_by(1));
}

/// The waiter is there in time, and both phases end before it gets its turn.
TEST(emulator_mbarriers, a_waiter_that_is_overtaken_while_it_waits) {
  auto const kernel = [](bool polls, unsigned between_ns) {
    return [=] {
      auto* const b = reinterpret_cast<mbarrier*>(shared_memory());
      init_and_meet(b, 1);
      for (unsigned i = 0; thread_rank() == 32 && i < 2; ++i) {
        if (!polls) wait(b, i);
        while (polls && !try_wait(b, i)) {
        }
      }
      for (unsigned i = 0; thread_rank() == 0 && i < 2; ++i) {
        if (i == 0) pause_ns(100000);
        if (i == 1 && between_ns > 0) pause_ns(between_ns);
        arrive(b);
      }
    };
  };
  grid const g{.threads = 64, .shared_bytes = 64};
  for (bool const polls : {false, true})
    expect_fault(fault_kind::phase_aliasing, {"phase 0 by parity 0, and", "only when 2 phases", "mbarriers_test.cpp"},
                 g, kernel(polls, 0));
  // With some time between, only a waiter that goes on late.
  int found = 0;
  for (options how; how.seed < 100; ++how.seed) try {
      launch(g, how, kernel(false, 1000));
    } catch (fault const& f) {
      EXPECT_EQ(f.kind(), fault_kind::phase_aliasing) << f.what();
      ++found;
    }
  EXPECT_GT(found, 0);
  EXPECT_LT(found, 100);
}

/// Each phase has one waiter, which the barrier of the CTA tells of those before.
TEST(emulator_mbarriers, waiters_take_turns) {
  auto const kernel = [](bool meets) {
    return [=] {
      auto* const b = reinterpret_cast<mbarrier*>(shared_memory());
      init_and_meet(b, 1);
      for (unsigned i = 0; i < 7; ++i) {
        if (thread_rank() == 1) arrive(b);
        if (thread_rank() == 32 * (i % 3)) wait(b, i);
        if (meets) sync_cta();
        if (!meets && i < 3) pause_ns(1000);
      }
    };
  };
  expect_clean({.threads = 96, .shared_bytes = 64}, kernel(true));
  expect_fault(fault_kind::phase_aliasing, {"phases have ended"}, {.threads = 96, .shared_bytes = 64}, kernel(false));
}

/// Not having found it ended, a thread can do something else.
TEST(emulator_mbarriers, a_look_that_finds_nothing) {
  grid const g{.threads = 64, .shared_bytes = 64};
  expect_clean(g, [] {
    auto* const b = reinterpret_cast<mbarrier*>(shared_memory());
    if (thread_rank() == 0)
      for (int i = 0; i < 2; ++i) init(b + i, 1);
    sync_cta();
    if (thread_rank() == 32) arrive(b + 1);
    bool told = false;
    while (thread_rank() == 0 && !try_wait(b, 0))
      if (!told && try_wait(b + 1, 0)) {
        told = true;
        arrive(b);
      }
  });
  expect_clean(g, [] {
    auto* const b = reinterpret_cast<mbarrier*>(shared_memory());
    init_and_meet(b, 1);
    auto const start = clock_ns();
    while (!try_wait(b, 0))
      if (clock_ns() - start > 1'000'000) return;
  });
  expect_fault(fault_kind::livelock,
               {"threads 0 to 63: try_wait", "mbarriers_test.cpp", "parity 0", "1 of 1 arrivals", "are missing"}, g,
               [] {
                 auto* const b = reinterpret_cast<mbarrier*>(shared_memory());
                 init_and_meet(b, 1);
                 while (!try_wait(b, 0)) {
                 }
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
