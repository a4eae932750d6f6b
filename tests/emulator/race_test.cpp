/// The race detector, each rule by itself.

#include <megakernels/tylo/emulator/internal/race.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tylo::emulator {
namespace {

constexpr unsigned words = 16;

/// Some memory, and threads that use it.
class race_detection : public testing::Test {
protected:
  agent_clock thread(unsigned cta, unsigned index) { return domain.thread(cta, index); }

  std::optional<conflict> access_by(agent_clock const& who, std::size_t at, std::size_t bytes, bool write,
                                    bool atomic = false, proxy through = proxy::generic) {
    return races.check(cells.data() + at / 4, at % 4, bytes, {who, code_position{++position}, write, atomic, through});
  }
  std::optional<conflict> read(agent_clock const& who, std::size_t at = 0, std::size_t bytes = 4) {
    return access_by(who, at, bytes, false);
  }
  std::optional<conflict> write(agent_clock const& who, std::size_t at = 0, std::size_t bytes = 4) {
    return access_by(who, at, bytes, true);
  }
  std::optional<conflict> add(agent_clock const& who) { return access_by(who, 0, 4, true, true); }
  std::optional<conflict> load(agent_clock const& who) { return access_by(who, 0, 4, false, true); }
  std::optional<conflict> copy_out(agent_clock const& who) { return access_by(who, 0, 4, false, false, proxy::async); }
  std::optional<conflict> copy_in(agent_clock const& who) { return access_by(who, 0, 4, true, false, proxy::async); }

  void order(agent_clock& before, agent_clock& after) {
    gathering g;
    domain.release(before, g);
    domain.acquire(after, domain.value(g));
  }
  void complete(agent_clock const& operation, agent_clock& waiter) {
    gathering g;
    domain.add(g, operation);
    domain.acquire(waiter, domain.value(g));
  }

  std::array<race_cell, words> cells{};
  clock_domain domain{4, 100};
  race_detector races{domain};
  std::uint32_t position = 0;
};

TEST_F(race_detection, names_the_other_access) {
  auto const a = thread(0, 1), b = thread(3, 99);
  EXPECT_FALSE(write(a, 4, 8));
  auto const c = read(b, 0, 16);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->other, a.id);
  EXPECT_TRUE(c->other_wrote);
  EXPECT_FALSE(c->other_atomic);
  EXPECT_EQ(c->other_position, code_position{1});
  EXPECT_EQ(c->byte, 4u);
  EXPECT_FALSE(c->fence_missing);
}

TEST_F(race_detection, of_two_accesses_without_order_one_may_not_write) {
  auto a = thread(0, 0), b = thread(1, 0);
  EXPECT_FALSE(read(a, 0));
  EXPECT_FALSE(read(b, 0));
  EXPECT_FALSE(write(a, 4));
  EXPECT_TRUE(read(b, 4));
  EXPECT_FALSE(write(a, 8));
  EXPECT_TRUE(write(b, 8));
  EXPECT_FALSE(read(a, 12));
  EXPECT_TRUE(write(b, 12));
}

TEST_F(race_detection, order_through_a_third_is_order) {
  auto a = thread(0, 0), b = thread(1, 0), c = thread(2, 0);
  EXPECT_FALSE(write(a));
  order(a, b);
  order(b, c);
  EXPECT_FALSE(write(c));
  EXPECT_TRUE(read(a));
}

TEST_F(race_detection, what_comes_after_a_release_is_not_ordered_by_it) {
  auto a = thread(0, 0), b = thread(1, 0);
  order(a, b);
  EXPECT_FALSE(write(a));
  EXPECT_TRUE(read(b));
}

TEST_F(race_detection, no_read_of_many_is_forgotten) {
  for (unsigned missing = 0; missing < 4 * 100; missing += 7) {
    cells = {};
    auto writer = thread(0, 0);
    std::vector<agent_clock> readers;
    for (unsigned i = 0; i < 400; ++i) readers.push_back(thread(i / 100, i % 100));
    for (unsigned round = 0; round < 2; ++round)
      for (auto& r : readers) {
        EXPECT_FALSE(read(r));
        EXPECT_FALSE(read(r));
        domain.advance(r);
      }
    gathering g;
    for (unsigned i = 0; i < 400; ++i)
      if (i != missing) domain.release(readers[i], g);
    domain.acquire(writer, domain.value(g));
    if (missing == 0) { // the writer itself
      EXPECT_FALSE(write(writer));
      continue;
    }
    auto const c = write(writer);
    ASSERT_TRUE(c) << missing;
    EXPECT_EQ(c->other, readers[missing].id);
    EXPECT_FALSE(c->other_wrote);
  }
}

TEST_F(race_detection, reads_are_of_the_clock_at_which_they_were_last_done) {
  auto a = thread(0, 0), b = thread(0, 1), c = thread(0, 2);
  EXPECT_FALSE(read(a));
  EXPECT_FALSE(read(b));
  order(a, c);
  order(b, c);
  EXPECT_FALSE(read(a)); // again, after the release
  auto const found = write(c);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->other, a.id);
}

TEST_F(race_detection, bytes_of_a_word_are_apart) {
  auto a = thread(0, 0), b = thread(1, 0), c = thread(2, 0);
  EXPECT_FALSE(write(a, 0, 2));
  EXPECT_FALSE(write(b, 2, 1));
  EXPECT_FALSE(write(c, 3, 1));
  EXPECT_FALSE(read(a, 0, 2));
  auto const found = read(a, 0, 4);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->other, b.id);
  EXPECT_EQ(found->byte, 2u);
}

TEST_F(race_detection, a_byte_has_the_history_of_its_word) {
  auto a = thread(0, 0), b = thread(1, 0), c = thread(2, 0);
  EXPECT_FALSE(read(a, 0));
  EXPECT_FALSE(read(b, 0));
  EXPECT_FALSE(read(c, 1, 1));
  order(a, c);
  auto const found = write(c, 3, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->other, b.id);
  EXPECT_FALSE(write(a, 4));
  EXPECT_TRUE(read(c, 5, 1));
}

TEST_F(race_detection, a_word_written_as_a_whole_is_one_again) {
  auto a = thread(0, 0), b = thread(1, 0);
  for (unsigned round = 0; round < 3; ++round) {
    EXPECT_FALSE(write(a, 0, 1));
    EXPECT_FALSE(write(a, 1, 2));
    order(a, b);
    EXPECT_FALSE(write(b, 0, 4));
    EXPECT_EQ(cells[0].more, 0u);
    order(b, a);
  }
  EXPECT_FALSE(write(a, 0, 1));
  EXPECT_TRUE(write(b, 0, 4));
}

TEST_F(race_detection, accesses_may_begin_and_end_within_words) {
  auto a = thread(0, 0), b = thread(1, 0);
  EXPECT_FALSE(write(a, 3, 6));
  EXPECT_FALSE(write(b, 0, 3));
  EXPECT_FALSE(write(b, 9, 3));
  auto const found = write(b, 2, 6);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->byte, 1u);
}

TEST_F(race_detection, atomic_accesses_do_not_race_with_each_other) {
  auto a = thread(0, 0), b = thread(1, 0), c = thread(2, 0);
  EXPECT_FALSE(add(a));
  EXPECT_FALSE(load(b));
  EXPECT_FALSE(add(c));
  EXPECT_FALSE(add(b));
}

TEST_F(race_detection, atomic_accesses_race_with_others) {
  auto a = thread(0, 0), b = thread(1, 0);
  EXPECT_FALSE(add(a));
  auto const found = read(b);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->other_atomic);
  EXPECT_TRUE(found->other_wrote);
  cells = {};
  EXPECT_FALSE(add(a));
  EXPECT_TRUE(write(b));
  cells = {};
  EXPECT_FALSE(load(a));
  EXPECT_FALSE(read(b));
  EXPECT_TRUE(write(b));
  cells = {};
  EXPECT_FALSE(read(a));
  EXPECT_TRUE(add(b));
  cells = {};
  EXPECT_FALSE(write(a));
  EXPECT_TRUE(load(b));
}

TEST_F(race_detection, every_atomic_access_counts_not_only_the_last) {
  auto a = thread(0, 0), b = thread(1, 0), c = thread(2, 0);
  EXPECT_FALSE(add(a));
  EXPECT_FALSE(add(b));
  order(b, c);
  auto const found = read(c);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->other, a.id);
}

TEST_F(race_detection, an_atomic_access_does_not_hide_the_write_before_it) {
  auto a = thread(0, 0), b = thread(1, 0), c = thread(2, 0);
  EXPECT_FALSE(write(a));
  order(a, b);
  EXPECT_FALSE(add(b));
  auto const found = add(c);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->other, a.id);
}

TEST_F(race_detection, an_atomic_read_does_not_hide_the_read_before_it) {
  auto a = thread(0, 0), b = thread(1, 0), c = thread(2, 0);
  EXPECT_FALSE(read(a));
  order(a, b);
  EXPECT_FALSE(load(b));
  auto const found = add(c);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->other, a.id);
}

TEST(race_detection_of_launches, the_host_orders_them) {
  std::array<race_cell, words> cells{};
  {
    clock_domain domain(4, 100);
    race_detector races(domain);
    auto const a = domain.thread(0, 0), b = domain.thread(3, 99);
    auto const use = [&](agent_clock const& who, std::size_t at, std::size_t bytes, bool write, bool atomic) {
      EXPECT_FALSE(races.check(cells.data() + at / 4, at % 4, bytes, {who, {}, write, atomic, proxy::generic}));
    };
    use(a, 0, 4, false, false);
    use(b, 0, 4, false, false); // a set of reads
    use(b, 4, 4, true, false);
    use(a, 8, 1, true, false); // cells of bytes
    use(b, 9, 1, true, false);
    use(a, 12, 4, true, true);
    use(b, 12, 4, true, true); // a set of atomic accesses
  }
  for (std::size_t const bytes : {std::size_t(4), std::size_t(1)})
    for (bool const write : {false, true}) {
      auto used = cells;
      clock_domain domain(1, 1); // fewer agents than before
      race_detector races(domain);
      auto const t = domain.thread(0, 0);
      for (std::size_t word = 0; word < 4; ++word)
        EXPECT_FALSE(races.check(used.data() + word, 0, bytes, {t, {}, write, false, proxy::async}));
    }
}

TEST_F(race_detection, operations_race_with_their_issuer_until_they_are_waited_for) {
  auto t = thread(0, 0);
  EXPECT_FALSE(write(t));
  races.fenced(t, false);
  auto const copy = domain.operation(t, 0, 64);
  EXPECT_FALSE(copy_out(copy));
  EXPECT_FALSE(read(t));
  EXPECT_TRUE(write(t));
  complete(copy, t);
  EXPECT_FALSE(write(t));
}

TEST_F(race_detection, operations_race_with_what_their_issuer_does_later) {
  auto t = thread(0, 0);
  auto const copy = domain.operation(t, 0, 64);
  EXPECT_FALSE(write(t));
  EXPECT_TRUE(copy_out(copy));
}

TEST_F(race_detection, operations_of_one_name_are_apart) {
  auto t = thread(0, 0), u = thread(0, 1);
  auto const first = domain.operation(t, 0, 64), second = domain.operation(u, 0, 64);
  EXPECT_FALSE(copy_in(first));
  EXPECT_TRUE(copy_in(second));
}

TEST_F(race_detection, an_operation_does_not_hide_a_later_one_of_its_name) {
  for (bool const among_others : {false, true}) {
    cells = {};
    auto t = thread(0, 0), u = thread(0, 1);
    auto const first = domain.operation(t, 0, 64), second = domain.operation(t, 0, 64);
    if (among_others) {
      EXPECT_FALSE(read(u));
    }
    EXPECT_FALSE(copy_out(second)); // overtakes
    EXPECT_FALSE(copy_out(first));
    complete(first, u);
    auto const found = write(u);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->other, second.id);
    complete(second, u);
    EXPECT_FALSE(write(u));
  }
}

TEST_F(race_detection, a_write_needs_a_fence_before_an_operation_meets_it) {
  auto t = thread(0, 0);
  EXPECT_FALSE(write(t));
  auto const found = copy_out(domain.operation(t, 0, 64));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->fence_missing);
  EXPECT_EQ(found->other, t.id);
  auto const over = copy_in(domain.operation(t, 0, 65));
  ASSERT_TRUE(over);
  EXPECT_TRUE(over->fence_missing);
  races.fenced(t, false);
  EXPECT_FALSE(copy_out(domain.operation(t, 0, 66)));
}

TEST_F(race_detection, a_fence_for_shared_memory_does_nothing_for_global_memory) {
  auto t = thread(0, 0);
  auto const access = [&](agent_clock const& who, bool write, proxy through) {
    return races.check(cells.data(), 0, 4, {who, {}, write, false, through, true});
  };
  EXPECT_FALSE(access(t, true, proxy::generic));
  races.fenced(t, false);
  auto const found = access(domain.operation(t, 0, 64), false, proxy::async);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->fence_missing);
  races.fenced(t, true);
  EXPECT_FALSE(access(domain.operation(t, 0, 65), false, proxy::async));
}

TEST_F(race_detection, a_fence_for_all_memory_is_one_for_shared_memory) {
  auto t = thread(0, 0);
  EXPECT_FALSE(write(t));
  races.fenced(t, true);
  EXPECT_FALSE(copy_out(domain.operation(t, 0, 64)));
}

TEST_F(race_detection, a_fence_counts_for_what_came_before_it) {
  auto t = thread(0, 0);
  races.fenced(t, false);
  EXPECT_FALSE(write(t));
  EXPECT_TRUE(copy_out(domain.operation(t, 0, 64)));
}

TEST_F(race_detection, a_fence_is_the_writers_before_it_tells) {
  auto writer = thread(0, 0), issuer = thread(0, 1);
  EXPECT_FALSE(write(writer));
  order(writer, issuer);
  races.fenced(issuer, false); // not the writer
  auto const by_another = copy_out(domain.operation(issuer, 0, 64));
  ASSERT_TRUE(by_another);
  EXPECT_TRUE(by_another->fence_missing);
  races.fenced(writer, false); // the issuer does not know of it
  EXPECT_TRUE(copy_out(domain.operation(issuer, 0, 65)));
  order(writer, issuer);
  EXPECT_FALSE(copy_out(domain.operation(issuer, 0, 66)));
}

TEST_F(race_detection, a_fence_after_the_operation_began_is_too_late) {
  auto t = thread(0, 0);
  EXPECT_FALSE(write(t));
  auto const copy = domain.operation(t, 0, 64);
  races.fenced(t, false);
  EXPECT_TRUE(copy_out(copy));
}

TEST_F(race_detection, old_fences_are_remembered) {
  auto writer = thread(0, 0), issuer = thread(0, 1);
  EXPECT_FALSE(write(writer));
  races.fenced(writer, false);
  order(writer, issuer);
  for (unsigned i = 0; i < 100; ++i) races.fenced(writer, false);
  EXPECT_FALSE(copy_out(domain.operation(issuer, 0, 64)));
}

TEST_F(race_detection, only_writes_before_operations_need_a_fence) {
  auto t = thread(0, 0);
  EXPECT_FALSE(read(t));
  auto const in = domain.operation(t, 0, 64);
  EXPECT_FALSE(copy_in(in));
  complete(in, t);
  EXPECT_FALSE(copy_out(domain.operation(t, 0, 65)));
  EXPECT_FALSE(read(t));
}

TEST_F(race_detection, atomic_writes_need_a_fence_too) {
  auto a = thread(0, 0), b = thread(0, 1);
  EXPECT_FALSE(add(a));
  EXPECT_FALSE(add(b));
  races.fenced(b, false);
  order(a, b);
  auto const found = copy_out(domain.operation(b, 0, 64));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->fence_missing);
  EXPECT_EQ(found->other, a.id);
}

} // namespace
} // namespace tylo::emulator
