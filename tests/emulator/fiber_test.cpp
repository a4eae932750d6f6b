#include <megakernels/tylo/emulator/internal/fiber.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tylo::emulator {
namespace {

/// Fibers that run one after another, in a ring, and the thread of the host that made them.
struct ring {
  struct member {
    ring* of = nullptr;
    std::size_t index = 0;
    fiber self;
    std::uint64_t turns = 0, sum = 0;
  };

  explicit ring(std::size_t count, void (*body)(void*) = &run) : members(count), stacks(count) {
    for (std::size_t i = 0; i < count; ++i) {
      members[i].of = this;
      members[i].index = i;
      stacks.make(i, members[i].self, body, &members[i]);
    }
  }

  /// Lets the member after `m` run; the host where all turns are over.
  void pass(member& m) {
    auto& next = members[(m.index + 1) % members.size()];
    if (turns_left == 0) return switch_to(m.self, host);
    --turns_left;
    if (&next != &m) switch_to(m.self, next.self);
  }

  static void run(void* of) {
    auto& m = *static_cast<member*>(of);
    // Values that live across switches, in registers and on the stack.
    std::uint64_t a = m.index, b = a * 3;
    std::uint64_t volatile kept[4] = {a, a + 1, a + 2, a + 3};
    for (;;) {
      ++m.turns;
      a += 1;
      b += 2;
      m.sum = a + b + kept[m.turns % 4] - m.turns % 4;
      m.of->pass(m);
    }
  }

  void go(std::uint64_t turns) {
    turns_left = turns;
    switch_to(host, members[at].self);
    at = (at + turns) % members.size();
  }

  std::vector<member> members;
  fiber host;
  std::uint64_t turns_left = 0;
  std::size_t at = 0;
  fiber_set stacks;
};

void expect_turns(std::size_t count, std::uint64_t rounds) {
  ring r(count);
  r.go(count * rounds);
  // The first has run once more, and passed to nobody.
  for (auto const& m : r.members) {
    auto const turns = rounds + (m.index == 0 ? 1 : 0);
    ASSERT_EQ(m.turns, turns) << m.index;
    ASSERT_EQ(m.sum, m.index * 5 + 3 * turns) << m.index;
  }
}

TEST(fibers, run_in_turn) {
  expect_turns(1, 1000);
  expect_turns(2, 1000);
  expect_turns(32, 1000);
  expect_turns(1024, 100);
  expect_turns(11'520, 10);
}

TEST(fibers, are_left_and_gone_on_with) {
  ring r(3);
  for (int i = 0; i < 100; ++i) r.go(7);
  std::uint64_t turns = 0;
  for (auto const& m : r.members) turns += m.turns;
  EXPECT_EQ(turns, 800u);
}

/// Counts how often it is destroyed.
struct counted {
  explicit counted(int& n) : count(&n) {}
  ~counted() { ++*count; }
  counted(counted const&) = delete;
  counted& operator=(counted const&) = delete;
  int* count;
};

int destroyed = 0;

TEST(fibers, are_given_up_without_unwinding) {
  destroyed = 0;
  for (int launch = 0; launch < 20; ++launch) {
    ring r(64, [](void* of) {
      auto& m = *static_cast<ring::member*>(of);
      counted const here(destroyed);
      char text[256]; // which a sanitizer has walls around
      (void)std::snprintf(text, sizeof text, "%zu", m.index);
      auto volatile digit = text[0];
      for (;;) {
        m.turns += digit != '\0' ? 1 : 0;
        m.of->pass(m);
      }
    });
    r.go(static_cast<std::uint64_t>(launch) * 10);
    // The next launch runs other functions on the same stacks.
    expect_turns(64, 3);
  }
  EXPECT_EQ(destroyed, 0);
}

TEST(fibers, take_stacks_that_were_used_before) {
  auto const first_stack = [](std::size_t count) { return ring(count).members[0].self.bottom; };
  auto const* const before = first_stack(40);
  EXPECT_EQ(first_stack(40), before);
  EXPECT_EQ(first_stack(33), before);
}

[[gnu::noinline]] void throw_at(int depth) {
  if (depth == 0) throw std::runtime_error("deep");
  throw_at(depth - 1);
}

TEST(fibers, throw_and_catch) {
  ring r(32, [](void* of) {
    auto& m = *static_cast<ring::member*>(of);
    for (;;) {
      try {
        m.of->pass(m); // others are amid the same
        throw_at(10);
      } catch (std::runtime_error const& e) {
        m.turns += std::string(e.what()) == "deep" ? 1 : 0;
      }
    }
  });
  r.go(32 * 20);
  std::uint64_t turns = 0;
  for (auto const& m : r.members) turns += m.turns;
  EXPECT_EQ(turns, 32u * 19 + 1);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

TEST(fibers, know_their_stacks) {
  ring r(100, [](void* of) {
    auto& m = *static_cast<ring::member*>(of);
    for (;;) {
      // Not a local: the sanitizer may keep those elsewhere.
      auto const* const here = static_cast<std::byte const*>(__builtin_frame_address(0));
      for (auto const& other : m.of->members) m.sum += other.self.contains(here) == (&other == &m) ? 1 : 0;
      m.of->pass(m);
    }
  });
  r.go(99);
  for (std::size_t i = 0; i < 100; ++i) {
    auto const& f = r.members[i].self;
    EXPECT_EQ(r.members[i].sum, 100u) << i;
    EXPECT_GE(f.bytes, std::size_t(64) * 1024);
    EXPECT_TRUE(f.contains(f.bottom) && f.contains(f.bottom + f.bytes - 1));
    EXPECT_FALSE(f.contains(f.bottom - 1) || f.contains(f.bottom + f.bytes) || f.contains(nullptr));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(f.bottom + f.bytes) % 64, 0u);
  }
}

TEST(fibers, run_on_several_threads_of_the_host) {
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([] {
      for (int launch = 0; launch < 10; ++launch) {
        expect_turns(32, 200);
        expect_turns(1024, 10);
      }
    });
  for (auto& t : threads) t.join();
}

/// Goes down by frames of a page until `bytes` of stack are used. A sanitizer would keep the frames elsewhere.
[[gnu::noinline]] __attribute__((no_sanitize("address"))) int use_stack(std::size_t bytes) {
  std::byte volatile frame[4000];
  for (std::size_t i = 0; i < sizeof frame; i += 8) frame[i] = std::byte{1};
  auto const below = bytes > sizeof frame ? use_stack(bytes - sizeof frame) : 0;
  return below + static_cast<int>(frame[0]);
}

void overflow(std::size_t fibers, std::size_t bytes) {
  static std::size_t needed;
  needed = bytes;
  ring r(fibers, [](void* of) {
    auto& m = *static_cast<ring::member*>(of);
    // Below the first stack nothing is mapped.
    if (m.index == 1) m.sum = static_cast<std::uint64_t>(use_stack(needed));
    for (;;) m.of->pass(m);
  });
  r.go(fibers);
}

TEST(fibers_death, overflow_is_found) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  overflow(4, 50'000);
  overflow(11'520, 50'000);
  auto const stack = ring(1).members[0].self.bytes;
  EXPECT_DEATH(overflow(4, stack + 4000), "");
  EXPECT_DEATH(overflow(11'520, stack), "");
}

/// Printed for whoever wants to know; the machine may be busy.
TEST(fibers, switch_fast) {
  for (std::size_t const count : {2u, 32u, 1024u, 11'520u}) {
    ring r(count);
    r.go(count * 2);
    auto best = 1e9;
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::uint64_t const turns = 1'000'000;
      auto const start = std::chrono::steady_clock::now();
      r.go(turns);
      std::chrono::duration<double, std::nano> const took = std::chrono::steady_clock::now() - start;
      best = std::min(best, took.count() / static_cast<double>(turns));
    }
    RecordProperty("ns_" + std::to_string(count), std::to_string(best));
    std::printf("%zu fibers: %.1f ns a switch\n", count, best);
  }
}

} // namespace
} // namespace tylo::emulator
