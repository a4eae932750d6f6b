/// Vector clocks: who knows what, and that equal knowledge is shared.

#include <megakernels/tylo/emulator/internal/clock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tylo::emulator {
namespace {

TEST(emulator_clock, ids_hold_cta_and_index) {
  auto const id = agent_of(2047, 2046);
  EXPECT_EQ(cta_of(id), 2047u);
  EXPECT_EQ(index_of(id), 2046u);
}

TEST(emulator_clock, threads_begin_knowing_nothing) {
  clock_domain domain(3, 40);
  auto const t = domain.thread(2, 39);
  EXPECT_EQ(t.now, domain.base());
  EXPECT_EQ(t.known[agent_of(0, 0)], domain.base() - 1);
  EXPECT_EQ(t.known[t.id], domain.base() - 1);
}

TEST(emulator_clock, what_is_released_is_acquired) {
  clock_domain domain(2, 8);
  auto a = domain.thread(0, 1), b = domain.thread(1, 7), c = domain.thread(1, 0);
  auto const of_a = a.now, of_b = b.now;
  gathering first, second;
  domain.release(a, first);
  EXPECT_EQ(a.now, of_a + 1);
  domain.acquire(b, domain.value(first));
  EXPECT_EQ(b.known[a.id], of_a);
  domain.release(b, second);
  domain.acquire(c, domain.value(second));
  EXPECT_EQ(c.known[a.id], of_a) << "through b";
  EXPECT_EQ(c.known[b.id], of_b);
  EXPECT_LT(a.known[b.id], domain.base());
}

TEST(emulator_clock, a_gathering_goes_on_after_its_value_and_ends_with_clear) {
  clock_domain domain(1, 4);
  auto a = domain.thread(0, 0), b = domain.thread(0, 1);
  gathering g;
  EXPECT_TRUE(g.empty());
  EXPECT_FALSE(domain.value(g));
  domain.release(a, g);
  auto const before = domain.value(g);
  domain.release(b, g);
  auto const after = domain.value(g);
  EXPECT_EQ(before[b.id], domain.base() - 1) << "a value never changes";
  EXPECT_EQ(after[a.id], domain.base());
  EXPECT_EQ(after[b.id], domain.base());
  EXPECT_FALSE(g.empty());
  g.clear();
  EXPECT_TRUE(g.empty());
}

TEST(emulator_clock, the_greatest_release_of_an_agent_counts) {
  clock_domain domain(1, 4);
  auto a = domain.thread(0, 0);
  gathering g;
  for (unsigned i = 0; i < 5000; ++i) domain.release(a, g);
  EXPECT_EQ(domain.value(g)[a.id], domain.base() + 4999);
}

TEST(emulator_clock, threads_of_a_barrier_hold_the_same_clock) {
  clock_domain domain(3, 64);
  std::vector<agent_clock> threads;
  for (unsigned i = 0; i < 64; ++i) threads.push_back(domain.thread(1, i));
  for (unsigned round = 0; round < 3; ++round) {
    gathering g;
    for (auto& t : threads) domain.release(t, g);
    auto const together = domain.value(g);
    for (auto& t : threads) domain.acquire(t, together);
    for (auto const& t : threads) EXPECT_TRUE(t.known == together);
    EXPECT_EQ(together.object()->chunks()[0], together.object()->chunks()[2]) << "nobody knows of those";
  }
}

TEST(emulator_clock, joins_return_an_argument_that_is_the_maximum) {
  clock_domain domain(2, 8);
  auto a = domain.thread(0, 0), b = domain.thread(1, 0);
  gathering less, of_a, of_b;
  auto const none = a.known;
  domain.release(a, of_a);
  domain.release(b, of_b);
  auto const x = domain.value(of_a), y = domain.value(of_b);
  EXPECT_TRUE(domain.join(x, none) == x);
  EXPECT_TRUE(domain.join(none, x) == x);
  EXPECT_TRUE(domain.join(x, x) == x);
  EXPECT_TRUE(domain.join(x, clock_ref()) == x);
  EXPECT_TRUE(domain.join(clock_ref(), x) == x);
  auto const both = domain.join(x, y);
  EXPECT_TRUE(domain.join(x, y) == both) << "remembered";
  EXPECT_EQ(both.object()->chunks()[0], x.object()->chunks()[0]) << "parts are shared";
  EXPECT_EQ(both.object()->chunks()[1], y.object()->chunks()[1]);
}

TEST(emulator_clock, joins_are_maxima) {
  clock_domain domain(3, 10);
  std::mt19937 random(1);
  std::vector<agent_clock> agents;
  for (unsigned c = 0; c < 3; ++c)
    for (unsigned i = 0; i < 10; ++i) agents.push_back(domain.thread(c, i));
  for (unsigned round = 0; round < 2000; ++round) {
    auto& from = agents[random() % agents.size()];
    auto& to = agents[random() % agents.size()];
    gathering g;
    domain.release(from, g);
    auto const released = domain.value(g);
    std::vector<std::uint32_t> greatest;
    for (auto const& a : agents) greatest.push_back(std::max(to.known[a.id], released[a.id]));
    domain.acquire(to, released);
    for (std::size_t i = 0; i < agents.size(); ++i) ASSERT_EQ(to.known[agents[i].id], greatest[i]);
  }
}

TEST(emulator_clock, operations_know_what_their_issuer_did_and_no_more) {
  clock_domain domain(2, 8);
  auto issuer = domain.thread(0, 3);
  auto const before = issuer.now;
  auto const first = domain.operation(issuer, 1, 5), second = domain.operation(issuer, 1, 5);
  EXPECT_EQ(first.id, agent_of(1, 5));
  EXPECT_TRUE(first.operation);
  EXPECT_EQ(first.known[issuer.id], before);
  EXPECT_EQ(issuer.now, before + 2);
  EXPECT_LT(first.now, second.now);
  EXPECT_TRUE(first.knows(first.id, first.now));
  EXPECT_FALSE(second.knows(first.id, first.now)) << "another operation of the same name";
  EXPECT_TRUE(issuer.knows(issuer.id, before));
}

TEST(emulator_clock, later_launches_have_greater_clocks) {
  std::uint32_t last = 0;
  {
    clock_domain domain(1, 1);
    auto t = domain.thread(0, 0);
    for (unsigned i = 0; i < 100; ++i) domain.advance(t);
    last = t.now;
  }
  EXPECT_GT(clock_domain(1, 1).base(), last);
}

} // namespace
} // namespace tylo::emulator
