/// The race detector: each rule by itself, then random programs against a detector that keeps everything.

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
  races.fenced(t);
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
  races.fenced(t);
  EXPECT_FALSE(copy_out(domain.operation(t, 0, 66)));
}

TEST_F(race_detection, a_fence_counts_for_what_came_before_it) {
  auto t = thread(0, 0);
  races.fenced(t);
  EXPECT_FALSE(write(t));
  EXPECT_TRUE(copy_out(domain.operation(t, 0, 64)));
}

TEST_F(race_detection, a_fence_is_the_writers_before_it_tells) {
  auto writer = thread(0, 0), issuer = thread(0, 1);
  EXPECT_FALSE(write(writer));
  order(writer, issuer);
  races.fenced(issuer); // not the writer
  auto const by_another = copy_out(domain.operation(issuer, 0, 64));
  ASSERT_TRUE(by_another);
  EXPECT_TRUE(by_another->fence_missing);
  races.fenced(writer); // the issuer does not know of it
  EXPECT_TRUE(copy_out(domain.operation(issuer, 0, 65)));
  order(writer, issuer);
  EXPECT_FALSE(copy_out(domain.operation(issuer, 0, 66)));
}

TEST_F(race_detection, a_fence_after_the_operation_began_is_too_late) {
  auto t = thread(0, 0);
  EXPECT_FALSE(write(t));
  auto const copy = domain.operation(t, 0, 64);
  races.fenced(t);
  EXPECT_TRUE(copy_out(copy));
}

TEST_F(race_detection, old_fences_are_remembered) {
  auto writer = thread(0, 0), issuer = thread(0, 1);
  EXPECT_FALSE(write(writer));
  races.fenced(writer);
  order(writer, issuer);
  for (unsigned i = 0; i < 100; ++i) races.fenced(writer);
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
  races.fenced(b);
  order(a, b);
  auto const found = copy_out(domain.operation(b, 0, 64));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->fence_missing);
  EXPECT_EQ(found->other, a.id);
}

/// Keeps all accesses of each byte, and the history of each agent as a vector of counts of events.
class naive_detector {
public:
  using agent = std::size_t;
  using history = std::map<agent, unsigned>;

  agent begin(history const& knows = {}) {
    known_.push_back(knows);
    return known_.size() - 1;
  }
  /// The agent has done something more.
  void step(agent a) { ++known_[a][a]; }
  history const& known(agent a) const { return known_[a]; }
  void learn(agent a, history const& h) { learn(known_[a], h); }
  static void learn(history& to, history const& from) {
    for (auto const& [who, count] : from) to[who] = std::max(to[who], count);
  }
  void fence(agent a) {
    step(a);
    fences_[a].push_back(known_[a][a]);
  }

  struct past {
    agent who;
    unsigned event;
    bool write, atomic;
    proxy through;
  };

  /// Whether the access, which is the agent's next event, meets a conflict; nothing is kept.
  bool conflicts(agent who, std::size_t at, std::size_t bytes, past const& a) {
    for (auto byte = at; byte < at + bytes; ++byte) {
      auto const& all = accesses_[byte];
      for (auto p = all.rbegin(); p != all.rend(); ++p) {
        auto const known = known_[who][p->who];
        bool const ordered = p->event <= known;
        if (!ordered && (a.write || p->write) && !(a.atomic && p->atomic)) return true;
        auto const& fences = fences_[p->who];
        if (ordered && p->write && p->through == proxy::generic && a.through == proxy::async &&
            std::none_of(fences.begin(), fences.end(), [&](unsigned f) { return p->event < f && f <= known; }))
          return true;
        if (p->write && !p->atomic) break; // what it wrote over is ordered before it
      }
    }
    return false;
  }
  void keep(std::size_t at, std::size_t bytes, past const& a) {
    for (auto byte = at; byte < at + bytes; ++byte) accesses_[byte].push_back(a);
  }

private:
  std::vector<history> known_;
  std::map<agent, std::vector<unsigned>> fences_;
  std::array<std::vector<past>, 4 * words> accesses_;
};

/// A launch in which random agents do random things, on cells that earlier launches used. Returns how many accesses
/// went well before the first conflict.
class random_launch {
public:
  random_launch(unsigned seed, std::array<race_cell, words>& cells) : random_(seed), cells_(cells) {
    std::vector<unsigned> const indices = {0, 1, 31, 32, 33, 63};
    auto const count = 2 + below(6);
    for (unsigned c = 0; c < ctas; ++c)
      for (std::size_t i = 0; i < count && i < indices.size(); ++i)
        agents_.push_back({domain_.thread(c, indices[i]), naive_.begin()});
    bytes_ = seed % 3 == 0 ? 4 : seed % 3 == 1 ? 16 : 4 * words;
    careful_ = 90 + below(11);
  }

  unsigned run() {
    for (unsigned event = 0; event < 400; ++event) {
      auto const what = below(100);
      if (what < 55) {
        if (!access_memory(agents_[below(agents_.size())], false)) break;
      } else if (what < 65) {
        auto& o = objects_[below(objects_.size())];
        release(agents_[below(agents_.size())], o);
      } else if (what < 80) {
        acquire(agents_[below(agents_.size())], objects_[below(objects_.size())]);
      } else if (what < 85) {
        meet();
      } else if (what < 90) {
        auto& a = agents_[below(agents_.size())];
        races_.fenced(a.clock);
        naive_.fence(a.naive);
      } else if (what < 95) {
        begin_operation(agents_[below(agents_.size())]);
      } else if (!operations_.empty()) {
        if (!go_on(below(operations_.size()))) break;
      }
      if (testing::Test::HasFailure()) break;
    }
    return accesses_;
  }

private:
  static constexpr unsigned ctas = 3, threads = 64, engines = 64;
  struct agent {
    agent_clock clock;
    naive_detector::agent naive;
  };
  struct object {
    gathering released;
    naive_detector::history naive;
  };

  std::size_t below(std::size_t n) { return random_() % n; }

  /// False where both found a conflict.
  bool access_memory(agent& a, bool async) {
    std::size_t const sizes[] = {1, 2, 4, 4, 4, 8, 16, 3};
    auto const size = std::min(sizes[below(8)], bytes_);
    auto const at = below(bytes_ / size) * size;
    auto const kind = below(8);
    bool const atomic = kind >= 5, write = kind < 2 || kind > 5;
    auto const through = async ? proxy::async : proxy::generic;
    naive_detector::past const p{a.naive,
                                 naive_.known(a.naive).contains(a.naive) ? naive_.known(a.naive).at(a.naive) + 1 : 1,
                                 write, atomic, through};
    bool const expected = naive_.conflicts(a.naive, at, size, p);
    if (expected && below(100) < careful_) return true;
    auto const found = races_.check(cells_.data() + at / 4, at % 4, size, {a.clock, {}, write, atomic, through});
    EXPECT_EQ(found.has_value(), expected) << "access " << accesses_;
    if (found) return false;
    naive_.step(a.naive);
    naive_.keep(at, size, p);
    ++accesses_;
    return true;
  }

  void release(agent& a, object& o) {
    if (below(4) == 0) {
      o.released.clear();
      o.naive.clear();
    }
    domain_.release(a.clock, o.released);
    naive_detector::learn(o.naive, naive_.known(a.naive));
    naive_.step(a.naive);
  }
  void acquire(agent& a, object& o) {
    if (o.released.empty()) return;
    domain_.acquire(a.clock, domain_.value(o.released));
    naive_.learn(a.naive, o.naive);
  }
  /// Some threads meet at a barrier.
  void meet() {
    object barrier;
    std::vector<agent*> members;
    for (auto& a : agents_)
      if (below(3) != 0) members.push_back(&a);
    for (auto* const a : members) {
      domain_.release(a->clock, barrier.released);
      naive_detector::learn(barrier.naive, naive_.known(a->naive));
      naive_.step(a->naive);
    }
    for (auto* const a : members) acquire(*a, barrier);
  }
  void begin_operation(agent& issuer) {
    if (next_engine_ == engines) return;
    auto const naive = naive_.begin(naive_.known(issuer.naive));
    operations_.push_back(
        {domain_.operation(issuer.clock, static_cast<unsigned>(below(ctas)), threads + next_engine_++), naive});
    naive_.step(issuer.naive);
  }
  /// An operation does something, or ends.
  bool go_on(std::size_t which) {
    auto& o = operations_[which];
    if (below(3) != 0) return access_memory(o, true);
    auto& into = objects_[below(objects_.size())];
    domain_.add(into.released, o.clock);
    naive_detector::learn(into.naive, naive_.known(o.naive));
    operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(which));
    return true;
  }

  std::mt19937 random_;
  std::array<race_cell, words>& cells_;
  clock_domain domain_{ctas, threads + engines};
  race_detector races_{domain_};
  naive_detector naive_;
  std::vector<agent> agents_;
  std::vector<agent> operations_;
  std::array<object, 4> objects_;
  std::size_t bytes_ = 4;
  std::size_t careful_ = 100;
  unsigned next_engine_ = 0;
  unsigned accesses_ = 0;
};

TEST(race_detection_at_random, finds_what_a_detector_finds_that_keeps_everything) {
  std::array<race_cell, words> cells{};
  unsigned accesses = 0;
  for (unsigned seed = 0; seed < 3000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    accesses += random_launch(seed, cells).run();
  }
  EXPECT_GT(accesses, 100000u);
}

} // namespace
} // namespace tylo::emulator
