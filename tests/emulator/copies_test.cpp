/// Asynchronous copies: what they move, and what a kernel may not do around them.

#include "kit.hpp"
#include "lane_data.hpp"
#include "lane_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace mk::test {
namespace {

using word_list = std::vector<std::uint32_t>;

TEST(emulator_copies, bulk_copies_go_there_and_back) {
  for (unsigned chunk_words : {4u, 36u, 1000u}) {
    constexpr unsigned chunks = 7;
    auto const from = any_bits<std::uint32_t>(chunks * chunk_words, chunk_words);
    array<std::uint32_t> const from_there(from), to(from.size());
    round_trip_arguments const g{from_there.data(), to.data(), chunks, chunk_words};
    expect_clean({.threads = round_trip_threads, .shared_bytes = round_trip_shared(chunk_words)},
                 [g] { round_trip(g); });
    auto expected = from;
    for (auto& w : expected) ++w;
    EXPECT_EQ(contents_of(to), expected);
  }
}

TEST(emulator_copies, one_load_for_two_ctas) {
  constexpr unsigned half_words = 100;
  auto const from = any_bits<std::uint32_t>(2 * half_words, 3);
  array<std::uint32_t> const from_there(from), to(2 * from.size());
  multicast_arguments const g{from_there.data(), to.data(), half_words};
  expect_clean({.ctas = 2, .threads = multicast_threads, .shared_bytes = multicast_shared(half_words), .cluster = 2},
               [g] { multicast(g); });
  auto expected = from;
  expected.insert(expected.end(), from.begin(), from.end());
  EXPECT_EQ(contents_of(to), expected);
}

/// Each thread copies `from_bytes` of its piece; the others read them after a barrier.
template <unsigned Bytes> void check_small_copies(unsigned from_bytes) {
  constexpr unsigned threads = 64;
  auto const from = any_bits<std::uint32_t>(threads * Bytes / 4, Bytes + from_bytes);
  array<std::uint32_t> const from_there(from), to(from.size());
  expect_clean({.threads = threads, .shared_bytes = threads * Bytes},
               [from = from_there.data(), to = to.data(), from_bytes] {
                 auto* const shared = shared_memory();
                 auto const mine = thread_rank() * Bytes;
                 copy_async<Bytes>(shared + mine, reinterpret_cast<std::byte const*>(from) + mine, from_bytes);
                 commit_copies();
                 await_copies<0>();
                 sync_cta();
                 auto const other = threads - 1 - thread_rank();
                 for (unsigned i = 0; i < Bytes / 4; ++i)
                   to[other * Bytes / 4 + i] = reinterpret_cast<std::uint32_t*>(shared)[other * Bytes / 4 + i];
               });
  std::vector<unsigned char> expected(from.size() * 4);
  std::memcpy(expected.data(), from.data(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (i % Bytes >= from_bytes) expected[i] = 0;
  EXPECT_EQ(std::memcmp(to.data(), expected.data(), expected.size()), 0) << Bytes << ", " << from_bytes;
}

TEST(emulator_copies, small_ones_end_in_zeros) {
  for (unsigned n : {0u, 1u, 7u, 16u}) check_small_copies<16>(n);
  for (unsigned n : {0u, 5u, 8u}) check_small_copies<8>(n);
  for (unsigned n : {0u, 3u, 4u}) check_small_copies<4>(n);
}

TEST(emulator_copies, groups_of_small_ones_are_awaited_in_order) {
  auto const from = any_bits<std::uint32_t>(32, 5);
  array<std::uint32_t> const from_there(from), to(32);
  expect_clean({.shared_bytes = 128}, [from = from_there.data(), to = to.data()] {
    if (thread_rank() != 0) return;
    auto* const shared = reinterpret_cast<std::uint32_t*>(shared_memory());
    for (unsigned i = 0; i < 8; ++i) {
      copy_async<16>(shared + 4 * i, from + 4 * i);
      commit_copies();
    }
    for (unsigned i = 0; i < 8; ++i) {
      i < 4 ? await_copies<4>() : await_copies<0>();
      for (unsigned w = 4 * i; w < 4 * i + 4; ++w) to[w] = shared[w];
    }
  });
  EXPECT_EQ(contents_of(to), from);
}

// --- faults

/// A barrier at the start of shared memory that all threads know of; the data lies from byte 1024 on.
mbarrier* make_barrier(unsigned arrivals = 1) {
  auto* const b = reinterpret_cast<mbarrier*>(shared_memory());
  if (thread_rank() == 0) {
    init(b, arrivals);
    publish_barriers();
  }
  sync_cta();
  return b;
}

std::byte* data() { return shared_memory() + 1024; }

constexpr grid one_warp{.threads = 32, .shared_bytes = 2048};

/// Thread 0 loads, in one of many wrong ways.
template <class Load> void expect_load_fault(fault_kind kind, std::initializer_list<char const*> words, Load load) {
  array<std::byte> const global(256, contents::zero, "source");
  expect_fault(kind, words, one_warp, [load, global = global.data()] {
    auto* const b = make_barrier();
    if (thread_rank() != 0) return;
    arrive_expecting(b, 64);
    load(global, b);
    wait(b, 0);
  });
}

TEST(emulator_copy_faults, what_a_bulk_load_does_not_take) {
  using from = std::byte const*;
  expect_load_fault(fault_kind::alignment, {"bulk_load", "copies_test.cpp", "byte 1028", "multiple of 16"},
                    [](from g, mbarrier* b) { bulk_load(data() + 4, g, 64, b); });
  expect_load_fault(fault_kind::alignment, {"byte 8 of global memory 'source'", "multiple of 16"},
                    [](from g, mbarrier* b) { bulk_load(data(), g + 8, 64, b); });
  expect_load_fault(fault_kind::alignment, {"24 bytes", "copies_test.cpp"},
                    [](from g, mbarrier* b) { bulk_load(data(), g, 24, b); });
  expect_load_fault(fault_kind::alignment, {"0 bytes", "copies_test.cpp"},
                    [](from g, mbarrier* b) { bulk_load(data(), g, 0, b); });
  expect_load_fault(fault_kind::bounds, {"'source'", "not in shared memory", "copies_test.cpp"},
                    [](from g, mbarrier* b) { bulk_load(const_cast<std::byte*>(g), g, 64, b); });
  expect_load_fault(fault_kind::bounds, {"not in global memory", "copies_test.cpp"},
                    [](from, mbarrier* b) { bulk_load(data(), data() + 64, 64, b); });
  expect_load_fault(fault_kind::bounds, {"bulk_load from", "past the end of global memory 'source'", "copies_test.cpp"},
                    [](from g, mbarrier* b) { bulk_load(data(), g + 224, 64, b); });
  expect_load_fault(fault_kind::bounds, {"bulk_load from", "byte 2048 of the 2048", "copies_test.cpp"},
                    [](from g, mbarrier* b) { bulk_load(shared_memory() + 2016, g, 64, b); });
  expect_load_fault(fault_kind::misuse, {"bulk_load", "mbarrier", "copies_test.cpp"},
                    [](from g, mbarrier* b) { bulk_load(data(), g, 64, b + 1); });
  expect_load_fault(fault_kind::barrier_count,
                    {"16 more bytes came in phase 0 than were announced", "80 by bulk_load at",
                     "64 by arrive_expecting at", "copies_test.cpp"},
                    [](from g, mbarrier* b) { bulk_load(data(), g, 80, b); });
  expect_load_fault(fault_kind::misuse, {"bulk_load_multicast", "cluster of 1", "copies_test.cpp"},
                    [](from g, mbarrier* b) { bulk_load_multicast(data(), g, 64, b, 3); });
  expect_load_fault(fault_kind::deadlock, {"mbarrier", "16 bytes are missing"},
                    [](from g, mbarrier* b) { bulk_load(data(), g, 48, b); });
}

TEST(emulator_copy_faults, a_source_that_nothing_has_written) {
  array<std::byte> const global(64, contents::unwritten, "source");
  expect_fault(fault_kind::unwritten, {"bulk_load from", "'source'", "copies_test.cpp"}, one_warp,
               [global = global.data()] {
                 auto* const b = make_barrier();
                 if (thread_rank() == 0) bulk_load(data(), global, 64, b);
               });
}

/// Thread 32 issues the load. Before it, in this order: 'i' is init and 'p' publish_barriers, both by thread 0, 's' a
/// barrier of the CTA.
auto publishing(char const* order, std::byte const* global) {
  std::array<char, 8> steps{};
  std::copy_n(order, std::strlen(order), steps.begin());
  return [=] {
    auto* const b = reinterpret_cast<mbarrier*>(shared_memory());
    for (auto const step : steps) {
      if (step == 's') sync_cta();
      if (thread_rank() == 0 && step == 'i') init(b, 1);
      if (thread_rank() == 0 && step == 'p') publish_barriers();
    }
    if (thread_rank() == 32) {
      pause_ns(10000);
      arrive_expecting(b, 64);
      bulk_load(data(), global, 64, b);
    }
    wait(b, 0);
  };
}

TEST(emulator_copy_faults, a_barrier_that_was_not_published) {
  array<std::byte> const global(64, contents::zero);
  constexpr grid g{.threads = 64, .shared_bytes = 2048};
  for (auto const* const order : {"ips", "isps", "ipsp", "pips"}) expect_clean(g, publishing(order, global.data()));
  for (auto const* const order : {"is", "pis", "psis"})
    expect_fault(fault_kind::proxy, {"bulk_load at", "CTA 0, thread 0", "no publish_barriers after", "copies_test.cpp"},
                 g, publishing(order, global.data()));
  expect_fault(fault_kind::proxy, {"bulk_load at", "whose publish_barriers at", "nothing orders", "copies_test.cpp"}, g,
               publishing("isp", global.data()));
}

/// Thread 0 announces and loads 64 bytes, as `order` says; another arrives late where two arrivals are `expected`.
template <class Order> auto load_of_too_many(std::byte const* global, unsigned expected, Order order) {
  return [=] {
    auto* const b = make_barrier(expected);
    if (thread_rank() == 0)
      order([=](unsigned bytes) { arrive_expecting(b, bytes); }, [=] { bulk_load(data(), global, 64, b); });
    if (thread_rank() == 32 && expected == 2) {
      pause_ns(1000000);
      arrive(b);
    }
    for (int i = 0; thread_rank() / 32 == 2 && i < 100; ++i) { // has no part in it
      pause_ns(200);
      sync_warp();
    }
    if (thread_rank() / 32 != 2) wait(b, 0);
  };
}

TEST(emulator_copy_faults, more_bytes_than_were_announced) {
  array<std::byte> const global(64, contents::zero);
  constexpr grid g{.threads = 96, .shared_bytes = 2048};
  auto const announced_first = [](auto announce, auto load) { announce(48), load(); };
  auto const announced_last = [](auto announce, auto load) { load(), pause_ns(100000), announce(48); };
  auto const expect = [&](unsigned expected, auto order) {
    for (auto const when : {emulator::completion::early, emulator::completion::late, emulator::completion::random}) {
      options how;
      how.asynchronous = when;
      auto const kernel = load_of_too_many(global.data(), expected, order);
      expect_fault(
          fault_kind::barrier_count,
          {"16 more bytes came in phase 0", "64 by bulk_load at", "48 by arrive_expecting at", "copies_test.cpp"}, g,
          kernel, how);
      for (how.seed = 0; how.seed < 6; ++how.seed) try {
          launch(g, how, kernel);
          ADD_FAILURE() << "not found";
        } catch (fault const& f) {
          EXPECT_EQ(std::string(f.what()).find("(warp 2"), std::string::npos) << f.what();
        }
    }
  };
  for (unsigned const expected : {1u, 2u}) {
    expect(expected, announced_first);
    expect(expected, announced_last);
  }
  expect_clean(g, load_of_too_many(global.data(), 1, [](auto announce, auto load) { load(), announce(64); }));
  expect_clean(
      g, load_of_too_many(global.data(), 2, [](auto announce, auto load) { announce(40), load(), announce(24); }));
}

TEST(emulator_copy_faults, more_bytes_than_the_peer_has_announced) {
  array<std::byte> const global(64, contents::zero);
  expect_fault(fault_kind::barrier_count,
               {"CTA 1", "32 more bytes", "64 by bulk_load_multicast at", "32 by arrive_expecting at"},
               {.ctas = 2, .threads = 32, .shared_bytes = 2048, .cluster = 2}, [global = global.data()] {
                 auto* const b = make_barrier();
                 sync_cluster();
                 if (thread_rank() == 0) {
                   if (cluster_rank() == 1) pause_ns(100000);
                   arrive_expecting(b, cluster_rank() == 0 ? 64 : 32);
                   if (cluster_rank() == 0) bulk_load_multicast(data(), global, 64, b, 3);
                 }
                 wait(b, 0);
                 sync_cluster();
               });
}

/// A load and what goes on beside it, between its start and its end.
template <class Beside> auto beside_a_load(std::byte const* global, Beside beside) {
  return [=] {
    auto* const b = make_barrier();
    auto* const words = reinterpret_cast<std::uint32_t*>(data());
    if (thread_rank() == 0) {
      arrive_expecting(b, 64);
      bulk_load(words, global, 64, b);
    }
    beside(words);
    wait(b, 0);
  };
}

TEST(emulator_copy_faults, what_is_read_before_it_has_landed) {
  array<std::byte> const global(64, contents::zero);
  array<std::uint32_t> const out(1);
  auto const reads = [out = out.data()](std::uint32_t* words) {
    if (thread_rank() == 0) out[0] = words[3];
  };
  auto const writes = [](std::uint32_t* words) {
    if (thread_rank() == 0) words[3] = 1;
  };
  // Whether the bytes are there already or not.
  for (auto const when : {emulator::completion::early, emulator::completion::late, emulator::completion::random}) {
    options how;
    how.asynchronous = when;
    expect_fault(fault_kind::in_flight, {"bulk_load from", "copies_test.cpp"}, one_warp,
                 beside_a_load(global.data(), reads), how);
    expect_fault(fault_kind::in_flight, {"bulk_load from", "copies_test.cpp"}, one_warp,
                 beside_a_load(global.data(), writes), how);
  }
}

TEST(emulator_copy_faults, nobody_waits_for_a_copy_before_the_cta_ends) {
  array<std::byte> const global(64, contents::zero);
  auto const kernel = [&](unsigned loads, unsigned waits) {
    return [=, global = global.data()] {
      auto* const b = make_barrier();
      if (thread_rank() != 0) return;
      for (unsigned i = 0; i < loads; ++i) {
        arrive_expecting(b, 64);
        bulk_load(data(), global, 64, b);
        if (i < waits) wait(b, i);
      }
    };
  };
  for (auto const when : {emulator::completion::early, emulator::completion::late, emulator::completion::random}) {
    options how;
    how.asynchronous = when;
    auto const* const text =
        when == emulator::completion::early ? "CTA 0 ends and nobody has waited for bulk_load from" : "CTA 0 ends ";
    for (unsigned const waits : {0u, 1u}) {
      expect_fault(fault_kind::exit, {text, "bulk_load from", "copies_test.cpp"}, one_warp, kernel(waits + 1, waits),
                   how);
      EXPECT_NO_THROW(launch(one_warp, how, kernel(waits, waits)));
    }
    expect_fault(
        fault_kind::exit, {"CTA 0 ends ", "copy_async from", "copies_test.cpp"}, one_warp,
        [global = global.data()] {
          if (thread_rank() != 0) return;
          copy_async<16>(data(), global);
          commit_copies();
        },
        how);
  }
}

TEST(emulator_copy_faults, a_slot_is_loaded_again_while_others_may_read_it) {
  array<std::byte> const global(64, contents::zero);
  array<std::uint32_t> const out(32);
  auto const kernel = [&](bool meets) {
    return [=, global = global.data(), out = out.data()] {
      auto* const b = make_barrier();
      for (unsigned round = 0; round < 2; ++round) {
        if (thread_rank() == 0) {
          arrive_expecting(b, 64);
          bulk_load(data(), global, 64, b);
        }
        wait(b, round);
        out[thread_rank()] = reinterpret_cast<std::uint32_t*>(data())[thread_rank() % 16];
        if (meets) sync_cta();
      }
    };
  };
  expect_clean(one_warp, kernel(true));
  expect_fault(fault_kind::race, {"a write of 64 bytes by bulk_load from", "read by CTA 0, thread", "copies_test.cpp"},
               one_warp, kernel(false));
}

/// Threads fill shared memory; thread 0 stores it.
template <class Store> auto store_of(bool fences, Store store) {
  return [=] {
    auto* const words = reinterpret_cast<std::uint32_t*>(shared_memory());
    words[thread_rank()] = thread_rank();
    if (fences) fence_async_proxy();
    sync_cta();
    if (thread_rank() == 0) store(words);
  };
}

TEST(emulator_copy_faults, a_store_without_a_proxy_fence) {
  array<std::uint32_t> const out(32);
  auto const store = [out = out.data()](std::uint32_t* words) {
    bulk_store(out, words, 128);
    commit_bulk_stores();
    await_bulk_stores<0>();
  };
  expect_clean(one_warp, store_of(true, store));
  expect_fault(fault_kind::proxy,
               {"a read of 128 bytes by bulk_store from", "fence_async_proxy", "CTA 0, thread", "copies_test.cpp"},
               one_warp, store_of(false, store));
}

TEST(emulator_copy_faults, a_load_of_what_the_kernel_wrote_without_a_proxy_fence) {
  array<std::uint32_t> const global(32);
  enum class fence { none, of_shared_memory, everywhere };
  auto const kernel = [&](fence kind) {
    return [=, global = global.data()] {
      auto* const b = make_barrier();
      global[thread_rank()] = thread_rank();
      if (kind == fence::of_shared_memory) fence_async_proxy();
      if (kind == fence::everywhere) fence_async_proxy_everywhere();
      sync_cta();
      if (thread_rank() == 0) {
        arrive_expecting(b, 128);
        bulk_load(data(), global, 128, b);
      }
      wait(b, 0);
    };
  };
  expect_clean(one_warp, kernel(fence::everywhere));
  for (auto const kind : {fence::none, fence::of_shared_memory})
    expect_fault(fault_kind::proxy, {"bulk_load from", "did no fence_async_proxy_everywhere", "copies_test.cpp"},
                 one_warp, kernel(kind));
}

TEST(emulator_copy_faults, the_source_of_a_store_is_overwritten_too_early) {
  array<std::uint32_t> const out(32);
  expect_fault(fault_kind::in_flight, {"read by bulk_store from", "copies_test.cpp"}, one_warp,
               store_of(true, [out = out.data()](std::uint32_t* words) {
                 bulk_store(out, words, 128);
                 commit_bulk_stores();
                 await_bulk_stores_read<1>(); // of the group before
                 words[5] = 1;
                 await_bulk_stores<0>();
               }));
}

TEST(emulator_copy_faults, what_a_store_wrote_is_read_when_only_its_source_is_free) {
  array<std::uint32_t> const out(32), seen(1);
  expect_fault(fault_kind::in_flight, {"write by bulk_store from", "copies_test.cpp"}, one_warp,
               store_of(true, [out = out.data(), seen = seen.data()](std::uint32_t* words) {
                 bulk_store(out, words, 128);
                 commit_bulk_stores();
                 await_bulk_stores_read<0>();
                 seen[0] = out[5];
               }));
}

TEST(emulator_copy_faults, a_thread_ends_before_its_store_has_read) {
  array<std::uint32_t> const out(32);
  for (bool const commits : {false, true})
    expect_fault(fault_kind::exit, {"bulk_store from", "copies_test.cpp"}, one_warp,
                 store_of(true, [out = out.data(), commits](std::uint32_t* words) {
                   bulk_store(out, words, 128);
                   if (commits)
                     commit_bulk_stores();
                   else
                     await_bulk_stores<0>(); // of no group
                 }));
}

TEST(emulator_copy_faults, a_store_to_what_is_no_global_memory) {
  expect_fault(fault_kind::bounds, {"bulk_store", "not in global memory", "copies_test.cpp"}, one_warp,
               store_of(true, [](std::uint32_t* words) { bulk_store(words + 32, words, 128); }));
}

/// Each thread copies 16 bytes, in one of many wrong ways.
template <class Body>
void expect_small_copy_fault(fault_kind kind, std::initializer_list<char const*> words, Body body) {
  array<std::byte> const global(1024, contents::zero, "source");
  array<std::uint32_t> const out(64);
  expect_fault(kind, words, {.threads = 64, .shared_bytes = 1024},
               [=, global = global.data(), out = out.data()] { body(global + thread_rank() * 16, out); });
}

TEST(emulator_copy_faults, small_copies) {
  using from = std::byte const*;
  using to = std::uint32_t*;
  auto const mine = [] { return shared_memory() + thread_rank() * 16; };
  expect_small_copy_fault(fault_kind::alignment, {"copy_async", "multiple of 16", "copies_test.cpp"},
                          [=](from g, to) { copy_async<16>(mine(), g + 8); });
  expect_small_copy_fault(fault_kind::alignment, {"copy_async", "multiple of 8", "copies_test.cpp"},
                          [=](from g, to) { copy_async<8>(mine() + 4, g); });
  expect_small_copy_fault(fault_kind::misuse, {"copy_async", "17 of 16 bytes", "copies_test.cpp"},
                          [=](from g, to) { copy_async<16>(mine(), g, 17); });
  expect_small_copy_fault(fault_kind::bounds, {"past the end of global memory 'source'", "copies_test.cpp"},
                          [=](from g, to) { copy_async<16>(mine(), g + 16); });
  expect_small_copy_fault(fault_kind::in_flight, {"copy_async from", "copies_test.cpp"}, [=](from g, to out) {
    copy_async<16>(mine(), g);
    commit_copies();
    out[thread_rank()] = *reinterpret_cast<std::uint32_t*>(mine());
  });
  expect_small_copy_fault(fault_kind::in_flight, {"copy_async from", "copies_test.cpp"}, [=](from g, to out) {
    copy_async<16>(mine(), g);
    await_copies<0>(); // of no group
    out[thread_rank()] = *reinterpret_cast<std::uint32_t*>(mine());
  });
  expect_small_copy_fault(
      fault_kind::race, {"nothing orders it after the write", "copies_test.cpp"}, [=](from g, to out) {
        copy_async<16>(mine(), g);
        commit_copies();
        await_copies<0>();
        out[thread_rank()] = *reinterpret_cast<std::uint32_t*>(shared_memory() + thread_rank() / 2 * 16);
      });
}

/// Ordinary accesses order them: no fence is needed.
TEST(emulator_copies, small_ones_go_the_threads_own_way) {
  array<std::uint32_t> const global(128), out(128);
  expect_clean({.shared_bytes = 512}, [global = global.data(), out = out.data()] {
    for (unsigned i = 0; i < 4; ++i) global[thread_rank() * 4 + i] = thread_rank() * 4 + i;
    sync_cta();
    auto* const shared = reinterpret_cast<std::uint32_t*>(shared_memory());
    copy_async<16>(shared + thread_rank() * 4, global + (31 - thread_rank()) * 4);
    commit_copies();
    await_copies<0>();
    sync_cta();
    for (unsigned i = 0; i < 4; ++i) out[i * 32 + thread_rank()] = shared[i * 32 + thread_rank()];
  });
  for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(out[i], (31 - i / 4) * 4 + i % 4);
}

} // namespace
} // namespace mk::test
