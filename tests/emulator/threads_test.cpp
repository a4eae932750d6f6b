/// Threads, warps and CTAs: what is right runs, what is wrong is named.

#include <megakernels/tylo/group.hpp>
#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/memory.hpp>
#include <megakernels/tylo/lane/thread.hpp>
#include <megakernels/tylo/layout/tile.hpp>

#include "kit.hpp"

#include <stdexcept>

namespace mk::test {
namespace {

TEST(emulator_threads, each_knows_who_it_is) {
  array<unsigned> const out(3 * 64);
  expect_clean({.ctas = 3, .threads = 64}, [out = out.data()] {
    out[cta_rank() * 64 + thread_rank()] = cta_rank() * 1000 + thread_rank() + 100000 * cta_count();
  });
  for (unsigned c = 0; c < 3; ++c)
    for (unsigned t = 0; t < 64; ++t) EXPECT_EQ(out[c * 64 + t], c * 1000 + t + 300000);
}

TEST(emulator_threads, lanes_exchange_values) {
  array<float> const out(5 * 32);
  expect_clean({}, [out = out.data()] {
    auto const lane = lane_rank();
    auto const mine = static_cast<float>(lane);
    out[lane] = shuffle_xor(mine, 5);
    out[32 + lane] = shuffle(mine, lane + 3);
    out[64 + lane] = join_lanes(mine, [](float a, float b) { return a + b; });
    out[96 + lane] = static_cast<float>(lanes_where(lane % 3 == 0) >> lane & 1u);
    out[128 + lane] = any_lane(lane == 31) ? 1.0f : 0.0f;
  });
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(out[i], static_cast<float>(i ^ 5));
    EXPECT_EQ(out[32 + i], static_cast<float>((i + 3) % 32));
    EXPECT_EQ(out[64 + i], 496.0f);
    EXPECT_EQ(out[96 + i], i % 3 == 0 ? 1.0f : 0.0f);
    EXPECT_EQ(out[128 + i], 1.0f);
  }
}

TEST(emulator_threads, reductions_in_one_meeting_have_the_same_bits) {
  array<float> const out(64);
  for (bool const batched : {false, true})
    launch({}, {.batched = batched}, [out = out.data() + (batched ? 32 : 0)] {
      out[lane_rank()] = join_lanes(1.0f / static_cast<float>(lane_rank() + 3), [](float a, float b) { return a + b; });
    });
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(out[i], out[32 + i]);
}

TEST(emulator_threads, barriers_order_and_shared_memory_is_the_ctas_own) {
  array<unsigned> const out(2 * 96);
  expect_clean({.ctas = 2, .threads = 96, .shared_bytes = 96 * 4}, [out = out.data()] {
    auto* const shared = reinterpret_cast<unsigned*>(shared_memory());
    for (unsigned round = 0; round < 3; ++round) {
      shared[thread_rank()] = thread_rank() + round + 1000 * cta_rank();
      sync_cta();
      out[cta_rank() * 96 + thread_rank()] = shared[95 - thread_rank()];
      sync_cta();
    }
  });
  for (unsigned c = 0; c < 2; ++c)
    for (unsigned t = 0; t < 96; ++t) EXPECT_EQ(out[c * 96 + t], 95 - t + 2 + 1000 * c);
}

TEST(emulator_threads, ctas_wait_for_each_other) {
  array<unsigned> const words(2, contents::zero), data(1), out(1);
  expect_clean({.ctas = 2}, [words = words.data(), data = data.data(), out = out.data()] {
    if (thread_rank() != 0) return;
    auto const round = load_relaxed(words + 1) + 1;
    if (cta_rank() == 0) {
      data[0] = 42 + round;
      store_release(words, round);
      while (load_acquire(words + 1) != round) {
      }
    } else {
      while (load_acquire(words) != round) {
      }
      out[0] = data[0];
      store_release(words + 1, round);
    }
  });
  EXPECT_EQ(out[0], 42 + 12u);
}

TEST(emulator_threads, time_passes_when_all_only_wait) {
  array<std::uint64_t> const out(1);
  launch({}, {}, [out = out.data()] {
    if (thread_rank() != 0) return;
    auto const start = clock_ns();
    while (clock_ns() - start < 1'000'000'000) pause_ns(500'000'000);
    out[0] = clock_ns() - start;
  });
  EXPECT_GE(out[0], 1'000'000'000u);
  EXPECT_LT(out[0], 1'100'000'000u);
}

// --- faults

TEST(emulator_faults, a_lane_leaves_a_shuffle_for_a_barrier) {
  expect_fault(fault_kind::divergence, {"sync_warp", "shuffle", "threads_test.cpp", "CTA 0, thread"}, {}, [] {
    if (lane_rank() < 16)
      sync_warp();
    else
      (void)shuffle(1, 0);
  });
}

TEST(emulator_faults, a_lane_ends_before_a_collective) {
  expect_fault(fault_kind::divergence, {"shuffle", "threads_test.cpp"}, {}, [] {
    if (lane_rank() == 7) return;
    (void)shuffle(1, 0);
  });
}

TEST(emulator_faults, half_the_threads_never_reach_a_barrier) {
  expect_fault(fault_kind::deadlock,
               {"barrier 1, 32 of 64 threads have arrived", "threads 0 to 31", "threads_test.cpp"}, {.threads = 64},
               [] {
                 if (thread_rank() < 32) sync_named(1, 64);
               });
}

TEST(emulator_faults, halves_of_two_warps_at_a_barrier) {
  expect_fault(fault_kind::barrier_count, {"gets 16 of warp 0, 16 of warp 1", "whole warps", "threads_test.cpp"},
               {.threads = 64}, [] {
                 if (lane_rank() < 16) sync_named(1, 32);
               });
}

TEST(emulator_faults, lanes_of_a_warp_at_two_barriers) {
  expect_fault(fault_kind::divergence, {"sync_cta", "other lanes of the warp", "threads_test.cpp"}, {}, [] {
    if (lane_rank() < 16)
      sync_cta();
    else
      sync_cta();
  });
  expect_fault(fault_kind::divergence, {"sync_named", "arrive_named"}, {.threads = 64}, [] {
    if (lane_rank() < 16)
      arrive_named(1, 64);
    else
      sync_named(1, 64);
  });
}

TEST(emulator_faults, lanes_of_a_warp_in_two_exchanges) {
  expect_fault(fault_kind::divergence, {"shuffle_xor", "shuffle at"}, {}, [] {
    if (lane_rank() < 16)
      (void)shuffle(1, 3);
    else
      (void)shuffle_xor(1, 1);
  });
  expect_fault(fault_kind::divergence, {"join other values"}, {},
               [] {
                 auto const add = [](float a, float b) { return a + b; };
                 if (lane_rank() < 16)
                   (void)join_lanes<31>(1.0f, add);
                 else
                   (void)join_lanes<1>(1.0f, add);
               },
               {.batched = true});
}

TEST(emulator_faults, the_barrier_of_the_cta_by_its_number) {
  expect_fault(fault_kind::misuse, {"named barriers are 1 to 15"}, {.threads = 64}, [] { sync_named(0, 64); });
}

TEST(emulator_faults, a_deadlock_names_those_who_have_ended) {
  expect_fault(fault_kind::deadlock, {"64 of 96 threads have arrived", "threads 32 to 63: have ended"}, {.threads = 96},
               [] {
                 if (thread_rank() / 32 != 1) sync_cta();
               });
}

TEST(emulator_faults, groups_of_another_shape_than_the_launch) {
  expect_fault(fault_kind::misuse, {"a group is of 128 threads of a CTA", "a launch of 64 threads"}, {.threads = 64},
               [] { (void)whole_cta<128>{}.rank(); });
  expect_fault(fault_kind::misuse, {"2 CTAs of a cluster", "clusters of 1"}, {.threads = 32},
               [] { cta_pair<32>{}.sync(); });
  expect_fault(fault_kind::misuse, {"a group is of 32 threads of a CTA"}, {.ctas = 2, .threads = 64, .cluster = 2},
               [] { (void)cta_pair<32>{}.rank(); });
}

TEST(emulator_faults, registers_for_a_part_of_a_warpgroup) {
  expect_fault(fault_kind::divergence, {"warps 0 and 1 of CTA 0", "setmaxnreg"}, {.threads = 128}, [] {
    if (thread_rank() < 32) grow_registers<240>();
  });
}

TEST(emulator_faults, a_peer_that_may_not_have_started) {
  expect_fault(fault_kind::misuse, {"before the CTAs of the cluster have met", "threads_test.cpp"},
               {.ctas = 2, .threads = 32, .shared_bytes = 128, .cluster = 2}, [] {
                 auto* const mine = reinterpret_cast<unsigned*>(shared_memory()) + lane_rank();
                 *peer_address(mine, 1 - cluster_rank()) = 1;
                 sync_cluster();
               });
}

/// The first half is constant; the second is written by other threads, which the copy engine is not told of.
TEST(emulator_faults, what_is_partly_constant) {
  array<unsigned> const words(32, contents::zero);
  emulator::mark_constant(words.data(), 64);
  expect_fault(fault_kind::proxy, {"a read of 128 bytes by bulk_load", "fence_async_proxy_everywhere"},
               {.threads = 64, .shared_bytes = 256}, [words = words.data()] {
                 auto* const b = reinterpret_cast<mbarrier*>(shared_memory() + 128);
                 if (thread_rank() == 0) {
                   init(b, 1);
                   publish_barriers();
                 }
                 if (thread_rank() >= 48) words[thread_rank() - 32] = 1;
                 sync_cta();
                 if (thread_rank() == 0) {
                   arrive_expecting(b, 128);
                   bulk_load(shared_memory(), reinterpret_cast<std::byte*>(words), 128, b);
                 }
                 wait(b, 0);
               });
}

// --- polls of unusual form

TEST(emulator_polls, of_many_words) {
  constexpr unsigned count = 40;
  array<unsigned> const flags(count, contents::zero);
  expect_clean({.ctas = 1 + count}, [flags = flags.data()] {
    if (cta_rank() > 0) {
      if (lane_rank() == 0) store_release(flags + cta_rank() - 1, 1u);
      return;
    }
    if (lane_rank() != 0) return;
    for (bool all = false; !all;) {
      all = true;
      for (unsigned i = 0; i < count; ++i) all = all && load_acquire(flags + i) == 1;
      for (unsigned i = 0; i < count; ++i) all = load_acquire(flags + i) == 1 && all;
    }
  });
}

TEST(emulator_polls, of_the_clock) {
  expect_clean({}, [] {
    auto const since = clock_ns();
    while (clock_ns() - since < 5000) {
    }
  });
}

TEST(emulator_polls, with_a_vote) {
  array<unsigned> const flag(1, contents::zero);
  auto const kernel = [flag = flag.data()](bool is_set) {
    return [=] {
      if (cta_rank() == 1) {
        if (is_set && lane_rank() == 0) store_release(flag, 1u);
        return;
      }
      while (!any_lane(lane_rank() == 0 && load_acquire(flag) == 1)) {
      }
    };
  };
  expect_clean({.ctas = 2}, kernel(true), 4);
  flag[0] = 0;
  expect_fault(fault_kind::livelock, {"nothing was written", "ballot", "threads_test.cpp"}, {.ctas = 2}, kernel(false),
               {.most_idle_turns = 100'000});
}

/// Ordinary accesses do not yield, and still end.
TEST(emulator_polls, by_ordinary_accesses) {
  array<unsigned> const flag(1, contents::zero);
  expect_fault(fault_kind::race, {"threads_test.cpp"}, {.ctas = 2}, [flag = flag.data()] {
    if (lane_rank() != 0) return;
    if (cta_rank() == 1) store_release(flag, 1u);
    while (cta_rank() == 0 && *static_cast<unsigned volatile*>(flag) == 0) {
    }
  });
}

/// Warps 0 and 1, 2 and 3, each with a barrier of their own, which is the same.
TEST(emulator_faults, two_groups_at_one_barrier) {
  expect_fault(fault_kind::barrier_count, {"Do two groups use it"}, {.threads = 128}, [] {
    tylo::warps<2> const group{thread_rank() / 64 * 2, 1};
    group.sync();
  });
}

TEST(emulator_faults, a_thread_that_is_not_of_the_group) {
  constexpr auto words = "is not of the group, threads 32 to 95";
  tylo::warps<2> const group{1, 1};
  expect_fault(fault_kind::misuse, {words, "threads_test.cpp", "thread 0"}, {.threads = 128}, [=] { group.sync(); });
  expect_fault(fault_kind::misuse, {words, "threads_test.cpp"}, {.threads = 128}, [=] { (void)group.rank(); });
  expect_clean({.threads = 128}, [=] {
    if (thread_rank() / 32 == 1 || thread_rank() / 32 == 2) group.sync();
  });
}

TEST(emulator_faults, a_thread_arrives_twice) {
  expect_fault(fault_kind::barrier_count, {"arrives twice", "threads_test.cpp"}, {.threads = 64}, [] {
    if (thread_rank() == 0)
      for (int i = 0; i < 2; ++i) arrive_named(1, 64);
  });
}

TEST(emulator_faults, threads_disagree_about_a_barrier) {
  expect_fault(fault_kind::barrier_count, {"for 96 threads", "wait there for 64"}, {.threads = 96},
               [] { sync_named(2, thread_rank() < 32 ? 64 : 96); });
}

TEST(emulator_faults, a_counter_that_nobody_adds_to) {
  array<unsigned> const word(1, contents::zero, "counter");
  expect_fault(fault_kind::livelock, {"polls byte 0 of global memory 'counter'", "which is 0", "threads_test.cpp"}, {},
               [word = word.data()] {
                 while (thread_rank() == 0 && load_acquire(word) != 1) {
                 }
               });
}

TEST(emulator_faults, memory_out_of_bounds) {
  array<int> const data(10, contents::zero, "ten");
  expect_fault(
      fault_kind::bounds,
      {"a read of 4 bytes", "0 bytes past the end of global memory 'ten' of 40 bytes", "threads_test.cpp", "thread 3"},
      {}, [data = data.data()] {
        if (thread_rank() == 3) data[0] = data[10];
      });
  expect_fault(fault_kind::bounds, {"a write of 4 bytes", "byte 128 of the 128 bytes of shared memory of CTA 1"},
               {.ctas = 2, .shared_bytes = 128}, [] {
                 if (cta_rank() == 1 && thread_rank() == 0) reinterpret_cast<int*>(shared_memory())[32] = 1;
               });
}

TEST(emulator_faults, memory_of_the_host) {
  int here = 0;
  expect_fault(fault_kind::bounds, {"neither memory of the device nor the thread's own"}, {}, [p = &here] { *p = 1; });
  auto const heap = std::make_unique<int>(1);
  expect_fault(fault_kind::bounds, {"neither memory of the device nor the thread's own"}, {},
               [p = heap.get()] { ++*p; });
}

TEST(emulator_faults, shared_memory_of_another_cta) {
  array<unsigned*> const address(1, contents::zero);
  expect_fault(fault_kind::bounds, {"shared memory of CTA 0", "not of the cluster"}, {.ctas = 2, .shared_bytes = 64},
               [address = address.data()] {
                 if (thread_rank() != 0) return;
                 auto* const word = reinterpret_cast<std::uint64_t*>(address);
                 if (cta_rank() == 0) {
                   *reinterpret_cast<unsigned*>(shared_memory()) = 1;
                   store_release(word, reinterpret_cast<std::uint64_t>(shared_memory()));
                   return;
                 }
                 std::uint64_t seen = 0;
                 while ((seen = load_acquire(word)) == 0) {
                 }
                 *reinterpret_cast<unsigned*>(seen) = 2;
               });
}

TEST(emulator_faults, memory_that_nothing_has_written) {
  array<float> const data(4), out(4);
  expect_fault(fault_kind::unwritten, {"which nothing has written", "threads_test.cpp"}, {},
               [data = data.data(), out = out.data()] {
                 if (thread_rank() == 1) out[0] = data[2];
               });
}

TEST(emulator_faults, constants_are_written) {
  array<float> const data(4, contents::zero);
  emulator::mark_constant(data.data(), 16);
  expect_fault(fault_kind::constant, {"a write of 4 bytes"}, {}, [data = data.data()] {
    if (thread_rank() == 1) data[1] = 1;
  });
}

TEST(emulator_faults, an_address_that_is_misaligned) {
  array<std::byte> const data(16, contents::zero);
  expect_fault(fault_kind::alignment, {"a read of 4 bytes"}, {}, [data = data.data()] {
    if (thread_rank() == 0) *reinterpret_cast<int*>(data) = *reinterpret_cast<int*>(data + 2);
  });
}

TEST(emulator_faults, lanes_race) {
  expect_fault(fault_kind::race, {"shared memory of CTA 0", "write by CTA 0, thread", "threads_test.cpp"},
               {.shared_bytes = 128}, [] {
                 auto* const shared = reinterpret_cast<unsigned*>(shared_memory());
                 shared[lane_rank()] = 1;
                 (void)shuffle(1, 0); // orders nothing
                 if (shared[lane_rank() ^ 1] != 1) shared[0] = 1;
               });
}

TEST(emulator_faults, warps_race) {
  expect_fault(fault_kind::race, {"nothing orders it after the", "threads_test.cpp"},
               {.threads = 64, .shared_bytes = 256}, [] {
                 auto* const shared = reinterpret_cast<unsigned*>(shared_memory());
                 shared[thread_rank()] = thread_rank();
                 sync_cta();
                 auto const other = shared[63 - thread_rank()];
                 shared[thread_rank()] = other; // a barrier is missing
               });
}

TEST(emulator_faults, ctas_race) {
  array<unsigned> const word(1, contents::zero), data(1);
  expect_fault(fault_kind::race, {"a read of 4 bytes", "nothing orders it after the write by CTA 0"}, {.ctas = 2},
               [word = word.data(), data = data.data()] {
                 if (thread_rank() != 0) return;
                 if (cta_rank() == 0) {
                   data[0] = 1;
                   store_relaxed(word, 1u); // not a release
                   return;
                 }
                 while (load_acquire(word) != 1) {
                 }
                 data[0] = data[0] + 1;
               });
}

TEST(emulator_faults, bytes_of_one_word_are_told_apart) {
  array<std::uint8_t> const data(64);
  expect_clean({.threads = 64}, [data = data.data()] { data[thread_rank()] = 1; });
  expect_fault(fault_kind::race, {"a write of 2 bytes"}, {.threads = 64}, [data = data.data()] {
    if (thread_rank() < 32)
      data[thread_rank()] = 1;
    else if (thread_rank() == 32)
      *reinterpret_cast<std::uint16_t*>(data + 6) = 1;
  });
}

TEST(emulator_faults, a_seed_is_named_and_repeats) {
  array<unsigned> const data(1, contents::zero);
  auto const report = [&](std::uint64_t seed) -> std::string {
    try {
      launch({.ctas = 2, .threads = 64}, {.seed = seed}, [data = data.data()] {
        if (thread_rank() == 17) data[0] = cta_rank();
      });
    } catch (fault const& f) {
      return f.what();
    }
    return {};
  };
  EXPECT_NE(report(7).find("with seed 7"), std::string::npos);
  EXPECT_EQ(report(7), report(7));
}

TEST(emulator_faults, what_a_site_does_can_be_left_out) {
  array<unsigned> const out(64);
  auto const kernel = [out = out.data()] {
    auto* const shared = reinterpret_cast<unsigned*>(shared_memory());
    shared[thread_rank()] = thread_rank();
    sync_cta();
    out[thread_rank()] = shared[63 - thread_rank()];
  };
  grid const g{.threads = 64, .shared_bytes = 256};
  auto const sites = launch(g, {.list_sites = true}, kernel).sites;
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].kind, "barrier");
  EXPECT_EQ(sites[0].times, 64u);
  options how;
  how.deleted_site = {"threads_test.cpp", sites[0].line};
  EXPECT_THROW(launch(g, how, kernel), fault);
}

/// Claims of layouts are checked in code for both sides, which throws.
TEST(emulator_threads, an_exception_that_leaves_the_kernel_is_a_fault) {
  array<float> const a(64);
  auto* const at = a.data();
  expect_fault(fault_kind::misuse, {"the address of a tile", "no multiple of 16", "threads_test.cpp"}, {},
               [at] { (void)tile_of<16>(at + 1, row_major<1, 8>()); });
  expect_fault(fault_kind::misuse, {"an exception leaves the kernel: of a kernel"}, {},
               [] { throw std::runtime_error("of a kernel"); });
  expect_clean({}, [at] { at[lane_rank()] = 0; }, 1);
}

} // namespace
} // namespace mk::test
