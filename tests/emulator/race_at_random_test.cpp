/// Random programs under the race detector, and under one that keeps everything.

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
/// Bytes from here on are global memory.
constexpr std::size_t first_global = 32;

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
  void fence(agent a, bool global) {
    step(a);
    fences_[a].push_back({known_[a][a], global});
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
            std::none_of(fences.begin(), fences.end(), [&](fence_event const& f) {
              return p->event < f.event && f.event <= known && (f.global || byte < first_global);
            }))
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
  struct fence_event {
    unsigned event;
    bool global; ///< for global memory as well
  };
  std::map<agent, std::vector<fence_event>> fences_;
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
        bool const global = below(2) != 0;
        races_.fenced(a.clock, global);
        naive_.fence(a.naive, global);
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
    auto const found =
        races_.check(cells_.data() + at / 4, at % 4, size, {a.clock, {}, write, atomic, through, at >= first_global});
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
