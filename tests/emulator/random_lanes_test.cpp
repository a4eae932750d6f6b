/// Random programs of the lane functions, in which whatever needs an order has one: the emulator finds nothing wrong
/// with them in any schedule, and their results are those of a plain interpreter. Without one wait, arrival, fence,
/// barrier or commit that is known to be needed they are found out.

#include <megakernels/tylo/lane/memory.hpp>

#include "environment.hpp"
#include "kit.hpp"
#include "lane_data.hpp"
#include "lane_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mk::test {
namespace {

using emulator::completion;
using word = std::uint32_t;

// --- programs

/// What a step does. A team is some warps of a CTA, its leader the first thread; `r` are the thread's registers.
enum class act : std::uint8_t {
  nothing,
  compute,    ///< of two registers
  exchange,   ///< with the lane at distance k
  rotate,     ///< from the lane k further on
  join,       ///< sum over the warp
  vote,       ///< about bit k
  any,        ///< whether some lane has k in its low bits
  product,    ///< of matrices made of two registers
  put,        ///< r[a] into the word of the block that is k further on
  get,        ///< adds that word to r[a]
  get_matrix, ///< adds to r[a] what a transposed load of the warp's part gives, rows rotated by k
  // bulk copies, by the leader
  expect_load,
  load,        ///< from word 4 k of the input
  load_stored, ///< from block b
  await_load,  ///< by the whole team
  store,       ///< to block b
  commit_store,
  await_read,  ///< of all but k groups
  await_store, ///< of all but k groups
  // small copies, by all threads
  copy_4,  ///< from word 4 b of the input to the word that is k further on
  copy_16, ///< the same, of four words, by a quarter of the threads
  commit_copy,
  await_copy, ///< of all but k groups
  // the team meets
  fence,
  meet_cta,
  meet_named,
  meet_warp,
  arrive,
  await_arrivals,
  // messages of the first team to the second
  await_empty,
  send,      ///< r[a]
  send_load, ///< from word 4 k of the input
  arrive_full,
  await_full,
  receive, ///< adds to r[a] the word that is k further on
  arrive_empty,
  await_last_empty,
  // between CTAs; all threads of a CTA do the same
  put_to_grid,   ///< into buffer b
  get_from_grid, ///< of the CTA b / 2 further on, from buffer b % 2
  count,
  await_count, ///< b: relaxed
  raise_flag,  ///< b: relaxed
  await_flags, ///< b: relaxed
  put_to_peer,
  meet_cluster,
  expect_multicast,
  multicast, ///< from word 4 k of the input
  await_multicast,
};

struct step {
  act what = act::nothing;
  std::uint8_t a = 0, block = 0;
  std::uint16_t b = 0, k = 0;
};

/// Steps of each team, and of both together after them, so many times.
struct section {
  unsigned times;
  std::array<std::pair<unsigned, unsigned>, 3> steps;
};
constexpr unsigned both = 2;

constexpr unsigned registers = 4, shared_blocks = 4, stored_blocks = 2, most_stages = 3;
/// Blocks of the whole CTA, which come after those of the teams.
constexpr unsigned cta_block = shared_blocks + stored_blocks, peer_block = cta_block + 1,
                   multicast_block = cta_block + 2;
constexpr unsigned barrier_words = 64, input_words = 2048, most_offset = 400;

enum class messages : std::uint8_t { by_threads, by_named_barriers, by_loads };

struct shape {
  unsigned ctas, cluster, threads, first_team; ///< threads of a CTA and of its first team
  messages kind;
  unsigned stages;

  unsigned team_of(unsigned thread) const { return thread < first_team ? 0 : 1; }
  unsigned team_begin(unsigned team) const { return team == 0 ? 0 : first_team; }
  unsigned team_size(unsigned team) const { return team == 0 ? first_team : threads - first_team; }
  /// Words of shared memory.
  unsigned stage_at(unsigned stage) const { return barrier_words + (shared_blocks + stage) * threads; }
  unsigned cta_block_at(unsigned block) const {
    return barrier_words + (shared_blocks + most_stages + block - cta_block) * threads;
  }
  unsigned shared_words() const { return cta_block_at(multicast_block + 1); }
  unsigned result_words() const { return (registers + shared_blocks) * threads; } ///< of a CTA
};

/// A step, and whether it is known to be needed: without it the program is found out.
struct planned {
  step s;
  bool needed = false;
};

struct program {
  shape of;
  std::vector<section> sections;
  std::vector<planned> steps;
};

// --- on the device

struct given {
  shape of;
  step const* steps;
  section const* sections;
  unsigned section_count;
  word const* input;
  word* stored;  ///< [CTA, stored_blocks, threads]
  word* grid;    ///< [2, CTA, threads]
  word* flags;   ///< a counter, then a flag of each CTA
  word* results; ///< [CTA, registers + shared_blocks, threads]
};

/// Small whole numbers of the bits of a word as a pair of bf16.
word small_pair(word bits) {
  auto const one = [](word b) { return word(bf16(static_cast<float>(static_cast<int>(b & 7) - 3)).bits); };
  return one(bits) | one(bits >> 4) << 16;
}

/// A thread that goes through the steps.
class walker {
public:
  explicit walker(given const& g) : g_(g), team_(g.of.team_of(thread_)), size_(g.of.team_size(team_)) {
    rank_ = thread_ - g.of.team_begin(team_);
    for (unsigned i = 0; i < registers; ++i) r_[i] = cta_rank() * 1000 + thread_ * 10 + i;
  }

  void run() {
    make_barriers();
    for (unsigned s = 0; s < g_.section_count; ++s)
      for (unsigned i = 0; i < g_.sections[s].times; ++i) {
        run(g_.sections[s].steps[team_]);
        run(g_.sections[s].steps[both]);
      }
    auto* const results = g_.results + cta_rank() * g_.of.result_words() + thread_;
    for (unsigned i = 0; i < registers; ++i) results[i * g_.of.threads] = r_[i];
    for (unsigned b = 0; b < shared_blocks; ++b) results[(registers + b) * g_.of.threads] = block_at(b)[rank_];
  }

private:
  void make_barriers() {
    if (thread_ == 0) {
      for (unsigned i = 0; i < 2 * shared_blocks + 1; ++i) init(barrier(i), 1);
      for (unsigned t = 0; t < 2 && g_.of.team_size(t) > 0; ++t) init(meeting(t), g_.of.team_size(t));
      for (unsigned i = 0; g_.of.team_size(1) > 0 && i < g_.of.stages; ++i) {
        init(full(i), g_.of.kind == messages::by_loads ? 1 : g_.of.first_team);
        init(empty(i), g_.of.team_size(1));
      }
      publish_barriers();
    }
    sync_cluster();
  }
  static mbarrier* barrier(unsigned i) { return reinterpret_cast<mbarrier*>(shared_memory()) + i; }
  mbarrier* loaded(unsigned block) const { return barrier(team_ * shared_blocks + block); }
  static mbarrier* multicasted() { return barrier(2 * shared_blocks); }
  static mbarrier* meeting(unsigned team) { return barrier(2 * shared_blocks + 1 + team); }
  static mbarrier* full(unsigned stage) { return barrier(2 * shared_blocks + 3 + stage); }
  static mbarrier* empty(unsigned stage) { return full(most_stages + stage); }
  static void wait(mbarrier* b, unsigned phase) {
    while (!try_wait(b, phase & 1)) {
    }
  }

  static word* shared() { return reinterpret_cast<word*>(shared_memory()); }
  word* block_at(unsigned block) const {
    if (block >= cta_block) return shared() + g_.of.cta_block_at(block);
    auto const begin = g_.of.team_begin(team_);
    if (block < shared_blocks) return shared() + barrier_words + block * g_.of.threads + begin;
    return g_.stored + (cta_rank() * stored_blocks + block - shared_blocks) * g_.of.threads + begin;
  }
  word& place(step const& s) const {
    return s.block < cta_block ? block_at(s.block)[(rank_ + s.k) % size_]
                               : block_at(s.block)[(thread_ + s.k) % g_.of.threads];
  }
  word& in_grid(unsigned buffer, unsigned cta, unsigned thread) const {
    return g_.grid[(buffer * g_.of.ctas + cta % g_.of.ctas) * g_.of.threads + thread % g_.of.threads];
  }
  word* stage(unsigned number) const { return shared() + g_.of.stage_at(number % g_.of.stages); }
  bool leads() const { return rank_ == 0; }
  unsigned bytes() const { return size_ * 4; }

  void run(std::pair<unsigned, unsigned> steps) {
    for (auto i = steps.first; i < steps.second; ++i) {
      auto const s = g_.steps[i];
      if (s.what <= act::product)
        of_registers(s);
      else if (s.what <= act::get_matrix)
        of_blocks(s);
      else if (s.what <= act::await_copy)
        of_copies(s);
      else if (s.what <= act::await_arrivals)
        of_meetings(s);
      else if (s.what <= act::await_last_empty)
        of_messages(s);
      else
        of_ctas(s);
    }
  }

  void of_registers(step const& s) {
    auto& to = r_[s.a];
    auto const from = r_[s.b];
    switch (s.what) {
    case act::compute:
      to = to * 5 + (from ^ s.k);
      break;
    case act::exchange:
      to += shuffle_xor(from, s.k);
      break;
    case act::rotate:
      to ^= shuffle(from, lane_rank() + s.k);
      break;
    case act::join:
      to ^= join_lanes(from, [](word a, word b) { return a + b; });
      break;
    case act::vote:
      to += lanes_where((from >> s.k & 1) != 0);
      break;
    case act::any:
      to += any_lane(from % 32 == s.k) ? 7u : 1u;
      break;
    case act::product:
      to += product(to, from);
      break;
    default:;
    }
  }

  static word product(word a, word b) {
    std::uint32_t const fa[4] = {small_pair(a), small_pair(a >> 8), small_pair(a >> 16), small_pair(a >> 24)};
    std::uint32_t const fb[2] = {small_pair(b), small_pair(b >> 8)};
    float sums[4] = {};
    mma<bf16>(sums, fa, fb);
    word all = 0;
    for (unsigned i = 0; i < 4; ++i) all = all * 3 + static_cast<word>(static_cast<int>(sums[i]));
    return all;
  }

  void of_blocks(step const& s) {
    if (s.what == act::put) {
      place(s) = r_[s.a];
    } else if (s.what == act::get) {
      r_[s.a] += place(s);
    } else {
      std::uint32_t matrix[1];
      auto const* const part = block_at(s.block) + rank_ / 32 * 32;
      load_matrices<true>(matrix, part + (lane_rank() + s.k) % 8 * 4);
      r_[s.a] += matrix[0];
    }
  }

  void of_copies(step const& s) {
    switch (s.what) {
    case act::await_load:
      return wait(loaded(s.block), loads_[s.block]++);
    case act::copy_4:
      return copy_async<4>(&place(s), g_.input + 4 * s.b + rank_);
    case act::copy_16:
      if (rank_ < size_ / 4)
        copy_async<16>(block_at(s.block) + (rank_ + s.k) * 4 % size_, g_.input + 4 * s.b + 4 * rank_);
      return;
    case act::commit_copy:
      return commit_copies();
    case act::await_copy:
      return s.k == 0 ? await_copies<0>() : s.k == 1 ? await_copies<1>() : await_copies<2>();
    default:
      if (leads()) of_bulk_copies(s);
    }
  }

  void of_bulk_copies(step const& s) {
    switch (s.what) {
    case act::expect_load:
      return arrive_expecting(loaded(s.block), bytes());
    case act::load:
      return bulk_load(block_at(s.block), g_.input + 4 * s.k, bytes(), loaded(s.block));
    case act::load_stored:
      return bulk_load(block_at(s.block), block_at(s.b), bytes(), loaded(s.block));
    case act::store:
      return bulk_store(block_at(s.b), block_at(s.block), bytes());
    case act::commit_store:
      return commit_bulk_stores();
    case act::await_read:
      return s.k == 0   ? await_bulk_stores_read<0>()
             : s.k == 1 ? await_bulk_stores_read<1>()
                        : await_bulk_stores_read<2>();
    default:
      return s.k == 0 ? await_bulk_stores<0>() : s.k == 1 ? await_bulk_stores<1>() : await_bulk_stores<2>();
    }
  }

  void of_meetings(step const& s) {
    switch (s.what) {
    case act::fence:
      return fence_async_proxy();
    case act::meet_cta:
      return sync_cta();
    case act::meet_named:
      return sync_named(1 + team_, size_);
    case act::meet_warp:
      return sync_warp();
    case act::arrive:
      return arrive(meeting(team_));
    default:
      return wait(meeting(team_), meetings_++);
    }
  }

  void of_messages(step const& s) {
    constexpr unsigned full_name = 3, empty_name = 4;
    auto const stages = g_.of.stages;
    bool const named = g_.of.kind == messages::by_named_barriers, loads = g_.of.kind == messages::by_loads;
    switch (s.what) {
    case act::await_empty:
      if (named && sent_ > 0) sync_named(empty_name, g_.of.threads);
      if (!named && (leads() || !loads)) wait(empty(sent_ % stages), sent_ / stages + 1);
      return;
    case act::send:
      stage(sent_++)[(rank_ + s.k) % size_] = r_[s.a];
      return;
    case act::send_load:
      if (leads()) bulk_load(stage(sent_), g_.input + 4 * s.k, bytes(), full(sent_ % stages));
      ++sent_;
      return;
    case act::arrive_full:
      if (loads && leads()) arrive_expecting(full(sent_ % stages), bytes()); // before the load
      if (named) arrive_named(full_name, g_.of.threads);
      if (!named && !loads) arrive(full((sent_ - 1) % stages));
      return;
    case act::await_full:
      return named ? sync_named(full_name, g_.of.threads) : wait(full(received_ % stages), received_ / stages);
    case act::receive:
      r_[s.a] += stage(received_++)[(rank_ + s.k) % g_.of.first_team];
      return;
    case act::arrive_empty:
      return named ? arrive_named(empty_name, g_.of.threads) : arrive(empty((received_ - 1) % stages));
    default:
      if (named && sent_ > 0) sync_named(empty_name, g_.of.threads);
    }
  }

  void of_ctas(step const& s) {
    auto const cta = cta_rank();
    switch (s.what) {
    case act::put_to_grid:
      in_grid(s.b, cta, thread_ + s.k) = r_[s.a];
      return;
    case act::get_from_grid:
      r_[s.a] += in_grid(s.b % 2, cta + s.b / 2, thread_ + s.k);
      return;
    case act::put_to_peer:
      *peer_address(&place(s), cluster_rank() ^ 1) = r_[s.a];
      return;
    case act::meet_cluster:
      return sync_cluster();
    case act::await_multicast:
      return wait(multicasted(), multicasts_++);
    default:
      if (thread_ == 0) of_first_thread(s);
    }
  }

  void of_first_thread(step const& s) {
    auto* const flags = g_.flags + 1;
    auto const bytes = g_.of.threads * 4;
    bool const relaxed = s.b != 0;
    switch (s.what) {
    case act::count:
      ++counted_;
      return add_release(g_.flags, word(1));
    case act::await_count:
      return await_least(g_.flags, counted_ * g_.of.ctas, relaxed);
    case act::raise_flag:
      ++raised_;
      return relaxed ? store_relaxed(flags + cta_rank(), raised_) : store_release(flags + cta_rank(), raised_);
    case act::await_flags:
      for (unsigned c = 0; c < g_.of.ctas; ++c) await_least(flags + c, raised_, relaxed);
      return;
    case act::expect_multicast:
      return arrive_expecting(multicasted(), bytes);
    default:
      if (cluster_rank() == 0)
        bulk_load_multicast(block_at(multicast_block), g_.input + 4 * s.k, bytes, multicasted(), 3);
    }
  }
  static void await_least(word* from, word least, bool relaxed) {
    while ((relaxed ? load_relaxed(from) : load_acquire(from)) < least) {
    }
  }

  given const& g_;
  unsigned thread_ = thread_rank();
  unsigned team_, size_, rank_;
  word r_[registers];
  unsigned loads_[shared_blocks] = {}, meetings_ = 0, multicasts_ = 0;
  unsigned sent_ = 0, received_ = 0, counted_ = 0, raised_ = 0;
};

// --- what the steps mean

/// Goes through the steps one after another, for all threads at once. What orders means nothing.
class interpreter {
public:
  struct memory {
    std::vector<word> results, stored;
  };

  interpreter(program const& p, std::vector<word> const& input, std::vector<word> stored)
      : p_(p), input_(input), stored_(std::move(stored)), ctas_(p.of.ctas), grid_(2 * p.of.ctas * p.of.threads) {
    for (unsigned c = 0; c < p.of.ctas; ++c) {
      ctas_[c].shared.resize(p.of.shared_words());
      for (unsigned t = 0; t < p.of.threads; ++t) {
        auto& r = ctas_[c].r.emplace_back();
        for (unsigned i = 0; i < registers; ++i) r[i] = c * 1000 + t * 10 + i;
      }
    }
  }

  memory run() {
    for (auto const& s : p_.sections)
      for (unsigned i = 0; i < s.times; ++i)
        for (unsigned team = 0; team <= both; ++team)
          for (auto at = s.steps[team].first; at < s.steps[team].second; ++at)
            for (unsigned c = 0; c < p_.of.ctas; ++c) run(p_.steps[at].s, c, team);
    memory all{{}, stored_};
    for (auto const& c : ctas_) {
      for (unsigned i = 0; i < registers; ++i)
        for (auto const& r : c.r) all.results.push_back(r[i]);
      auto const blocks = c.shared.begin() + barrier_words;
      all.results.insert(all.results.end(), blocks, blocks + shared_blocks * p_.of.threads);
    }
    return all;
  }

private:
  struct cta {
    std::vector<std::array<word, registers>> r;
    std::vector<word> shared;
    std::vector<std::vector<word>> sent;
    std::size_t received = 0;
  };

  /// Of a team, or the whole CTA.
  word* block_at(unsigned block, unsigned c, unsigned begin) {
    if (block >= cta_block) return ctas_[c].shared.data() + p_.of.cta_block_at(block);
    if (block < shared_blocks) return ctas_[c].shared.data() + barrier_words + block * p_.of.threads + begin;
    return stored_.data() + (c * stored_blocks + block - shared_blocks) * p_.of.threads + begin;
  }

  void run(step const& s, unsigned c, unsigned team) {
    auto const begin = team == both ? 0 : p_.of.team_begin(team);
    auto const size = team == both ? p_.of.threads : p_.of.team_size(team);
    auto& own = ctas_[c];
    auto* const r = own.r.data() + begin;
    if (s.what <= act::product) {
      for (unsigned warp = 0; warp < size; warp += 32) of_registers(s, r + warp);
      return;
    }
    auto* const block = block_at(s.block, c, begin);
    auto const turned = [&](unsigned t) { return (t + s.k) % size; };
    switch (s.what) {
    case act::put:
      for (unsigned t = 0; t < size; ++t) block[turned(t)] = r[t][s.a];
      break;
    case act::get:
      for (unsigned t = 0; t < size; ++t) r[t][s.a] += block[turned(t)];
      break;
    case act::get_matrix:
      for (unsigned t = 0; t < size; ++t) r[t][s.a] += transposed(block + t / 32 * 32, t % 32, s.k);
      break;
    case act::load:
      std::copy_n(input_.begin() + 4 * s.k, size, block);
      break;
    case act::load_stored:
      std::copy_n(block_at(s.b, c, begin), size, block);
      break;
    case act::store:
      std::copy_n(block, size, block_at(s.b, c, begin));
      break;
    case act::copy_4:
      for (unsigned t = 0; t < size; ++t) block[turned(t)] = input_[4 * s.b + t];
      break;
    case act::copy_16:
      for (unsigned t = 0; t < size; ++t) block[(t + 4 * s.k) % size] = input_[4 * s.b + t];
      break;
    case act::send:
      own.sent.emplace_back(size);
      for (unsigned t = 0; t < size; ++t) own.sent.back()[turned(t)] = r[t][s.a];
      break;
    case act::send_load:
      own.sent.emplace_back(input_.begin() + 4 * s.k, input_.begin() + 4 * s.k + size);
      break;
    case act::receive:
      for (unsigned t = 0; t < size; ++t) r[t][s.a] += own.sent[own.received][(t + s.k) % p_.of.first_team];
      ++own.received;
      break;
    case act::put_to_grid:
      for (unsigned t = 0; t < size; ++t) in_grid(s.b, c)[turned(t)] = r[t][s.a];
      break;
    case act::get_from_grid:
      for (unsigned t = 0; t < size; ++t) r[t][s.a] += in_grid(s.b % 2, c + s.b / 2)[turned(t)];
      break;
    case act::put_to_peer:
      for (unsigned t = 0; t < size; ++t) block_at(s.block, c ^ 1, 0)[turned(t)] = r[t][s.a];
      break;
    case act::multicast:
      std::copy_n(input_.begin() + 4 * s.k, size, block_at(multicast_block, c, 0));
      break;
    default:;
    }
  }
  word* in_grid(unsigned buffer, unsigned c) {
    return grid_.data() + (buffer * p_.of.ctas + c % p_.of.ctas) * p_.of.threads;
  }

  /// Rows of 8 elements of 16 bits, of which the first is row k: lane i has columns i / 4 of rows 2 (i % 4) and the
  /// next.
  static word transposed(word const* part, unsigned lane, unsigned k) {
    auto const element = [&](unsigned row) { return part[(row + k) % 8 * 4 + lane / 8] >> lane / 4 % 2 * 16 & 0xFFFF; };
    return element(lane % 4 * 2) | element(lane % 4 * 2 + 1) << 16;
  }

  static void of_registers(step const& s, std::array<word, registers>* r) {
    std::array<word, 32> from{}, to{};
    for (unsigned i = 0; i < 32; ++i) {
      from[i] = r[i][s.b];
      to[i] = r[i][s.a];
    }
    word sum = 0, votes = 0;
    bool some = false;
    for (unsigned i = 0; i < 32; ++i) {
      sum += from[i];
      votes |= (from[i] >> s.k % 32 & 1) << i;
      some = some || from[i] % 32 == s.k;
    }
    for (unsigned i = 0; i < 32; ++i) {
      auto& t = r[i][s.a];
      if (s.what == act::compute) t = to[i] * 5 + (from[i] ^ s.k);
      if (s.what == act::exchange) t += from[i ^ s.k];
      if (s.what == act::rotate) t ^= from[(i + s.k) % 32];
      if (s.what == act::join) t ^= sum;
      if (s.what == act::vote) t += votes;
      if (s.what == act::any) t += some ? 7u : 1u;
      if (s.what == act::product) t = t + product(to, from, i);
    }
  }

  static int small(word bits) { return static_cast<int>(bits & 7) - 3; }
  /// Where a lane has element (row, column) of A, and (row, column) of B, is told in tylo/lane/mma.hpp.
  static word product(std::array<word, 32> const& a, std::array<word, 32> const& b, unsigned lane) {
    auto const of_a = [&](unsigned row, unsigned column) {
      auto const byte = row / 8 + column / 8 * 2;
      return small(a[row % 8 * 4 + column % 8 / 2] >> (byte * 8 + column % 2 * 4));
    };
    auto const of_b = [&](unsigned row, unsigned column) {
      return small(b[column * 4 + row % 8 / 2] >> (row / 8 * 8 + row % 2 * 4));
    };
    word all = 0;
    for (unsigned i = 0; i < 4; ++i) {
      int sum = 0;
      for (unsigned k = 0; k < 16; ++k) sum += of_a(lane / 4 + i / 2 * 8, k) * of_b(k, lane % 4 * 2 + i % 2);
      all = all * 3 + static_cast<word>(sum);
    }
    return all;
  }

  program const& p_;
  std::vector<word> const& input_;
  std::vector<word> stored_;
  std::vector<cta> ctas_;
  std::vector<word> grid_;
};

// --- programs at random

using generator = std::mt19937_64;

unsigned below(generator& random, std::size_t n) { return static_cast<unsigned>(random() % n); }
bool one_in(generator& random, unsigned n) { return below(random, n) == 0; }
std::uint8_t any_register(generator& random) { return static_cast<std::uint8_t>(below(random, registers)); }

/// Whether something is so.
enum class known : std::uint8_t { no, maybe, yes };

/// Writes steps of one team between two meetings of the CTA. Whatever needs an order gets it just before, and there is
/// nothing else that would order it: that makes it needed.
class team_writer {
public:
  team_writer(generator& random, shape const& of, unsigned team, std::vector<planned>& to)
      : random_(random), of_(of), size_(of.team_size(team)), to_(to) {}

  void any_step() {
    switch (below(random_, 12)) {
    case 0:
    case 1:
    case 2:
      return compute();
    case 3:
    case 4:
      return put(any_shared());
    case 5:
    case 6:
      return get(below(random_, cta_block));
    case 7:
      return get_matrix(any_shared());
    case 8:
      return load(any_shared());
    case 9:
      return load_stored(any_shared(), any_stored());
    case 10:
      return store(any_shared(), any_stored());
    default:
      return copy(any_shared());
    }
  }

  void put(unsigned block) {
    auto const k = static_cast<std::uint16_t>(below(random_, size_));
    auto& b = before_put(block, k);
    add({.what = act::put, .a = any_register(random_), .block = static_cast<std::uint8_t>(block), .k = k});
    wrote(b, k);
  }

  void send(unsigned number) {
    note_message();
    add({.what = act::await_empty}, number >= of_.stages);
    if (of_.kind == messages::by_loads) {
      add({.what = act::arrive_full}, true);
      add({.what = act::send_load, .k = any_offset()});
    } else {
      add({.what = act::send, .a = any_register(random_), .k = static_cast<std::uint16_t>(below(random_, size_))});
      add({.what = act::arrive_full}, true);
    }
  }
  void receive(unsigned number, unsigned of) {
    note_message();
    add({.what = act::await_full}, true);
    add({.what = act::receive,
         .a = any_register(random_),
         .k = static_cast<std::uint16_t>(below(random_, of_.first_team))});
    add({.what = act::arrive_empty}, number + of_.stages < of);
  }

  /// Nothing is under way any more, and the copy engine may see all.
  void end() {
    for (unsigned b = 0; b < shared_blocks; ++b)
      if (blocks_[b].is_loading) await_load(b, false);
    if (!copies_.empty()) await_copies(copies_.size(), false);
    if (!stores_.empty()) await_stores(stores_.size(), false);
    fence(false);
  }

private:
  /// A quarter of the threads has the words: others than at any turn.
  static constexpr std::uint16_t no_turn = 0xFFFF;
  /// Of the writes by threads: each has fenced its own since, and told the others.
  enum class fenced : std::uint8_t { and_told, and_maybe_told, by_each, no };

  struct block_state {
    known written = known::no, read = known::no;          ///< by threads, and not all know
    std::uint16_t put_turn = no_turn, get_turn = no_turn; ///< of the last such
    fenced fence = fenced::and_told;
    known only_leader_knows = known::no; ///< that a store has ended
    bool was_awaited = false;            ///< a load, since the team met
    bool is_loading = false, load_is_sure = true;
    std::optional<unsigned> loads_from;           ///< the stored block that a load under way reads
    std::optional<unsigned> copy, reader, writer; ///< numbers of groups
  };
  /// A group of copies, which ends with the step that commits it.
  struct group {
    unsigned number;
    std::size_t commit;
    unsigned block;
    std::uint16_t turn;
    bool sure = true;
  };

  unsigned any_shared() { return below(random_, shared_blocks); }
  unsigned any_stored() { return shared_blocks + below(random_, stored_blocks); }
  std::uint16_t any_offset() { return static_cast<std::uint16_t>(below(random_, most_offset)); }

  std::size_t add(step const& s, bool needed = false) {
    to_.push_back({s, needed});
    return to_.size() - 1;
  }
  std::size_t add(act what, unsigned block, bool needed = false) {
    return add({.what = what, .block = static_cast<std::uint8_t>(block)}, needed);
  }

  void compute() {
    auto const what = static_cast<act>(1 + below(random_, static_cast<unsigned>(act::product)));
    add({.what = what,
         .a = any_register(random_),
         .b = any_register(random_),
         .k = static_cast<std::uint16_t>(below(random_, 32))});
  }

  void get(unsigned block) {
    auto const k = static_cast<std::uint16_t>(below(random_, size_));
    auto& b = before_get(block, k);
    add({.what = act::get, .a = any_register(random_), .block = static_cast<std::uint8_t>(block), .k = k});
    b.read = known::yes;
    b.get_turn = k;
  }
  void get_matrix(unsigned block) {
    auto& b = before_get(block, no_turn);
    add({.what = act::get_matrix,
         .a = any_register(random_),
         .block = static_cast<std::uint8_t>(block),
         .k = static_cast<std::uint16_t>(below(random_, 8))});
    b.read = known::yes;
    b.get_turn = no_turn;
  }

  void load(unsigned block) {
    auto& b = before_load(block);
    add(act::expect_load, block, true);
    add({.what = act::load, .block = static_cast<std::uint8_t>(block), .k = any_offset()});
    b.is_loading = b.load_is_sure = true;
  }
  void load_stored(unsigned block, unsigned from) {
    auto& source = blocks_[from];
    if (source.writer) await_stores(place_of(stores_, *source.writer), true);
    auto& b = before_load(block);
    add(act::expect_load, block, true);
    add({.what = act::load_stored, .block = static_cast<std::uint8_t>(block), .b = static_cast<std::uint16_t>(from)});
    b.is_loading = b.load_is_sure = true;
    b.loads_from = from;
  }

  void store(unsigned block, unsigned to) {
    auto& target = blocks_[to];
    if (target.writer) await_stores(place_of(stores_, *target.writer), true);
    for (unsigned i = 0; i < shared_blocks; ++i)
      if (blocks_[i].loads_from == to) settle(i);
    auto& source = blocks_[block];
    settle(block);
    if (source.fence == fenced::no) fence(true);
    if (source.fence != fenced::and_told || source.written != known::no || target.read != known::no)
      meet(source.fence == fenced::by_each || source.written == known::yes || target.read == known::yes);
    add({.what = act::store, .block = static_cast<std::uint8_t>(block), .b = static_cast<std::uint16_t>(to)});
    stores_.push_back({next_group_++, add(act::commit_store, 0), block, no_turn});
    source.reader = target.writer = stores_.back().number;
  }

  void copy(unsigned block) {
    bool const wide = one_in(random_, 2);
    auto const k = static_cast<std::uint16_t>(below(random_, size_));
    auto const turn = wide ? no_turn : k;
    auto& b = before_put(block, turn);
    add({.what = wide ? act::copy_16 : act::copy_4,
         .block = static_cast<std::uint8_t>(block),
         .b = any_offset(),
         .k = k});
    names_are_used();
    copies_.push_back({next_group_++, add(act::commit_copy, 0), block, turn});
    b.copy = copies_.back().number;
  }

  // What comes before an access.

  block_state& before_get(unsigned block, std::uint16_t turn) {
    settle(block);
    auto& b = blocks_[block];
    auto const stored = block < shared_blocks ? known::no : b.only_leader_knows; // reads of a store do not matter
    if (b.written != known::no || stored != known::no)
      meet(stored == known::yes || (b.written == known::yes && turn != b.put_turn));
    return b;
  }
  block_state& before_put(unsigned block, std::uint16_t turn) {
    settle(block);
    auto& b = blocks_[block];
    if (b.reader) await_reads(place_of(stores_, *b.reader));
    if (b.written != known::no || b.read != known::no || b.only_leader_knows != known::no)
      meet(b.only_leader_knows == known::yes || (b.written == known::yes && turn != b.put_turn) ||
           (b.read == known::yes && turn != b.get_turn));
    return b;
  }
  block_state& before_load(unsigned block) {
    settle(block);
    auto& b = blocks_[block];
    if (b.reader) await_reads(place_of(stores_, *b.reader));
    if (b.fence == fenced::no) fence(true);
    if (b.fence != fenced::and_told || b.written != known::no || b.read != known::no || b.was_awaited)
      meet(b.fence == fenced::by_each || b.written == known::yes || b.read == known::yes);
    return b;
  }

  static void make_less_sure(known& k) {
    if (k == known::yes) k = known::maybe;
  }
  /// Messages that go to and fro may have told threads of a team what others of it did.
  void note_message() {
    for (auto& b : blocks_) {
      for (auto* const k : {&b.written, &b.read, &b.only_leader_knows}) make_less_sure(*k);
      if (b.fence == fenced::by_each) b.fence = fenced::and_maybe_told;
    }
    names_are_used();
  }
  /// So many copies have begun that one of them may have the name of a load or store under way: to have waited for it
  /// counts as having waited for that.
  void names_are_used() {
    for (auto& b : blocks_) b.load_is_sure = false;
    for (auto& g : stores_) g.sure = false;
  }
  void wrote(block_state& b, std::uint16_t turn) {
    b.written = known::yes;
    b.put_turn = turn;
    b.fence = fenced::no;
  }

  /// Nothing is going to write the block.
  void settle(unsigned block) {
    auto const& b = blocks_[block];
    if (b.is_loading) await_load(block, true);
    if (b.copy) await_copies(place_of(copies_, *b.copy), true);
    if (b.writer) await_stores(place_of(stores_, *b.writer), true);
  }

  /// How many groups end with this one.
  static std::size_t place_of(std::vector<group> const& groups, unsigned number) {
    auto const at = std::find_if(groups.begin(), groups.end(), [&](group const& g) { return g.number == number; });
    return static_cast<std::size_t>(at - groups.begin()) + 1;
  }

  void await_load(unsigned block, bool needed) {
    auto& b = blocks_[block];
    add(act::await_load, block, needed && b.load_is_sure);
    b.is_loading = false;
    b.was_awaited = true;
    b.loads_from.reset();
    for (auto& other : blocks_) make_less_sure(other.only_leader_knows); // the load may have told the others
  }

  /// Waits for the first `count` groups, or more of them. Returns how many.
  std::size_t await_groups(act what, std::vector<group> const& groups, std::size_t count, bool needed) {
    constexpr std::size_t most_pending = 2;
    auto const pending = std::min(groups.size() - count, most_pending);
    needed = needed && groups[count - 1].sure;
    add({.what = what, .k = static_cast<std::uint16_t>(pending)}, needed);
    if (needed && pending == groups.size() - count) to_[groups[count - 1].commit].needed = true;
    return groups.size() - pending;
  }
  void await_copies(std::size_t count, bool needed) {
    count = await_groups(act::await_copy, copies_, count, needed);
    for (std::size_t i = 0; i < count; ++i) {
      auto& b = blocks_[copies_[i].block];
      if (b.copy != copies_[i].number) continue;
      b.copy.reset();
      wrote(b, copies_[i].turn);
    }
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  void await_reads(std::size_t count) { were_read(await_groups(act::await_read, stores_, count, true)); }
  void await_stores(std::size_t count, bool needed) {
    count = await_groups(act::await_store, stores_, count, needed);
    were_read(count);
    for (std::size_t i = 0; i < count; ++i)
      for (auto& b : blocks_)
        if (b.writer == stores_[i].number) {
          b.writer.reset();
          b.only_leader_knows = known::yes;
        }
    stores_.erase(stores_.begin(), stores_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  void were_read(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      for (auto& b : blocks_)
        if (b.reader == stores_[i].number) {
          b.reader.reset();
          b.only_leader_knows = known::yes;
        }
  }

  void fence(bool needed) {
    add({.what = act::fence}, needed);
    for (auto& b : blocks_)
      if (b.fence == fenced::no) b.fence = fenced::by_each;
  }

  /// The team meets, in one of the ways that it can.
  void meet(bool needed) {
    switch (below(random_, 4)) {
    case 0:
      add({.what = size_ == of_.threads ? act::meet_cta : act::meet_named}, needed);
      break;
    case 1:
      add({.what = size_ == 32 ? act::meet_warp : act::meet_named}, needed);
      break;
    case 2:
      add({.what = act::meet_named}, needed);
      break;
    default:
      add({.what = act::arrive}, needed);
      add({.what = act::await_arrivals}, needed);
    }
    for (auto& b : blocks_) {
      b.written = b.read = b.only_leader_knows = known::no;
      b.was_awaited = false;
      if (b.fence != fenced::no) b.fence = fenced::and_told;
    }
  }

  generator& random_;
  shape const& of_;
  unsigned size_;
  std::vector<planned>& to_;
  std::array<block_state, cta_block> blocks_{};
  std::vector<group> copies_, stores_;
  unsigned next_group_ = 0;
};

/// Writes what whole CTAs do.
class cta_writer {
public:
  cta_writer(generator& random, shape const& of, std::vector<planned>& to) : random_(random), of_(of), to_(to) {}

  /// What was done before may be done again.
  void begin_section(bool repeats) {
    if (!repeats) return;
    for (auto* const read : {&grid_read_[0], &grid_read_[1], &peer_read_, &multicast_read_})
      if (*read == known::no) *read = known::maybe;
  }

  void any_steps() {
    add({.what = act::meet_cta});
    if (one_in(random_, 2)) through_shared();
    if (of_.ctas > 1 && one_in(random_, 2)) through_grid();
    if (of_.cluster > 1 && one_in(random_, 2)) through_peer();
    if (of_.cluster > 1 && one_in(random_, 2)) multicast();
  }

private:
  void add(step const& s, bool needed = false) { to_.push_back({s, needed}); }
  std::uint16_t any_turn() { return static_cast<std::uint16_t>(below(random_, of_.threads)); }
  void get(unsigned block, std::uint16_t k) {
    add({.what = act::get, .a = any_register(random_), .block = static_cast<std::uint8_t>(block), .k = k});
  }

  void through_shared() {
    auto const to = any_turn(), from = any_turn();
    add({.what = act::put, .a = any_register(random_), .block = cta_block, .k = to});
    add({.what = act::meet_cta}, to != from);
    get(cta_block, from);
  }

  void through_grid() {
    auto const buffer = below(random_, 2);
    if (grid_read_[buffer] != known::no) meet_grid(false, grid_read_[buffer] == known::yes);
    add({.what = act::put_to_grid,
         .a = any_register(random_),
         .b = static_cast<std::uint16_t>(buffer),
         .k = any_turn()});
    meet_grid(true, true);
    auto const distance = 1 + below(random_, of_.ctas - 1);
    add({.what = act::get_from_grid,
         .a = any_register(random_),
         .b = static_cast<std::uint16_t>(buffer + 2 * distance),
         .k = any_turn()});
    grid_read_[buffer] = known::yes;
  }

  /// All CTAs meet. `after`: something came just before that needs it.
  void meet_grid(bool after, bool needed) {
    bool const flags = one_in(random_, 2);
    add({.what = act::meet_cta}, needed && after);
    add({.what = flags ? act::raise_flag : act::count}, needed);
    add({.what = flags ? act::await_flags : act::await_count}, needed);
    add({.what = act::meet_cta}, needed);
    grid_read_ = {};
    for (auto* const read : {&peer_read_, &multicast_read_})
      if (*read == known::yes) *read = known::maybe;
  }

  void meet_cluster(known needed) {
    if (needed == known::no) return;
    add({.what = act::meet_cluster}, needed == known::yes);
    peer_read_ = multicast_read_ = known::no;
    for (auto& read : grid_read_)
      if (read == known::yes) read = known::maybe;
  }

  void through_peer() {
    meet_cluster(peer_read_);
    add({.what = act::put_to_peer, .a = any_register(random_), .block = peer_block, .k = any_turn()});
    meet_cluster(known::yes);
    get(peer_block, any_turn());
    peer_read_ = known::yes;
  }

  void multicast() {
    meet_cluster(multicast_read_);
    add({.what = act::expect_multicast}, true);
    add({.what = act::multicast, .k = static_cast<std::uint16_t>(below(random_, most_offset))});
    add({.what = act::await_multicast}, true);
    get(multicast_block, any_turn());
    multicast_read_ = known::yes;
  }

  generator& random_;
  shape const& of_;
  std::vector<planned>& to_;
  std::array<known, 2> grid_read_{};
  known peer_read_ = known::no, multicast_read_ = known::no;
};

shape any_shape(generator& random) {
  shape s{};
  s.ctas = 1 + below(random, 4);
  s.cluster = s.ctas % 2 == 0 && one_in(random, 2) ? 2 : 1;
  auto const warps = 1 + below(random, 4);
  s.threads = warps * 32;
  s.first_team = 32 * (one_in(random, 3) ? warps : 1 + below(random, warps));
  s.kind = static_cast<messages>(below(random, 3));
  s.stages = s.kind == messages::by_named_barriers ? 1 : 1 + below(random, most_stages);
  return s;
}

program any_program(generator& random) {
  program p{.of = any_shape(random), .sections = {}, .steps = {}};
  bool const two_teams = p.of.first_team < p.of.threads;
  cta_writer of_cta(random, p.of, p.steps);
  auto const size = [&] { return static_cast<unsigned>(p.steps.size()); };
  for (unsigned s = 0, count = 1 + below(random, 3); s < count; ++s) {
    auto& now = p.sections.emplace_back(section{.times = 1 + below(random, 3), .steps = {}});
    auto const letters = two_teams ? below(random, 6) : 0;
    for (unsigned team = 0; team < (two_teams ? 2 : 1); ++team) {
      auto const begin = size();
      team_writer w(random, p.of, team, p.steps);
      if (s == 0)
        for (unsigned b = 0; b < shared_blocks; ++b) w.put(b);
      auto const own = 4 + below(random, 12);
      for (unsigned i = 0, letter = 0; i < own + letters; ++i)
        if (letter < letters && below(random, own + letters - i) < letters - letter) {
          team == 0 ? w.send(letter) : w.receive(letter, letters);
          ++letter;
        } else {
          w.any_step();
        }
      w.end();
      now.steps[team] = {begin, size()};
    }
    auto const begin = size();
    of_cta.begin_section(now.times > 1);
    of_cta.any_steps();
    now.steps[both] = {begin, size()};
  }
  if (two_teams) {
    auto const begin = size();
    p.steps.push_back({{.what = act::await_last_empty}});
    p.sections.push_back({.times = 1, .steps = {{{begin, size()}}}});
  }
  return p;
}

// --- runs

/// A program, what it is given, and what it must make of that.
class random_run {
public:
  explicit random_run(std::uint64_t seed)
      : random_(seed), p_(any_program(random_)), input_(any_bits<word>(input_words, seed)),
        initial_(any_bits<word>(p_.of.ctas * stored_blocks * p_.of.threads, seed + 1)),
        expected_(interpreter(p_, input_, initial_).run()) {}

  [[nodiscard]] std::size_t steps() const { return p_.steps.size(); }

  /// The options of a run in one of several ways.
  options any_options(unsigned way) {
    return {.seed = way == 0 ? 0 : random_(),
            .asynchronous = std::array{completion::late, completion::early, completion::random}[way % 3],
            .batched = one_in(random_, 2)};
  }

  /// Throws what the emulator throws.
  [[nodiscard]] bool is_right(options const& how) const {
    std::vector<step> all;
    for (auto const& s : p_.steps) all.push_back(s.s);
    array<step> const steps{std::span<step const>(all)};
    array<section> const sections{std::span<section const>(p_.sections)};
    array<word> const input{std::span<word const>(input_)}, stored{std::span<word const>(initial_)};
    array<word> const grid(2 * p_.of.ctas * p_.of.threads), flags(1 + p_.of.ctas, contents::zero);
    array<word> const results(p_.of.ctas * p_.of.result_words());
    emulator::mark_constant(steps.data(), steps.size() * sizeof(step));
    emulator::mark_constant(sections.data(), sections.size() * sizeof(section));
    emulator::mark_constant(input.data(), input.size() * sizeof(word));
    given const g{p_.of,         steps.data(),  sections.data(), static_cast<unsigned>(sections.size()),
                  input.data(),  stored.data(), grid.data(),     flags.data(),
                  results.data()};
    launch({.ctas = p_.of.ctas,
            .threads = p_.of.threads,
            .shared_bytes = p_.of.shared_words() * sizeof(word),
            .cluster = p_.of.cluster},
           how, [g] { walker(g).run(); });
    return std::equal(expected_.results.begin(), expected_.results.end(), results.data()) &&
           std::equal(expected_.stored.begin(), expected_.stored.end(), stored.data());
  }

  /// Leaves out a step that is needed, or makes it relaxed; tells which. Nothing where none is.
  std::optional<planned> leave_one_out() {
    std::vector<planned*> needed;
    for (auto& p : p_.steps)
      if (p.needed) needed.push_back(&p);
    if (needed.empty()) return {};
    auto* const out = needed[below(random_, needed.size())];
    auto const before = *out;
    bool const may_be_relaxed =
        before.s.what == act::await_count || before.s.what == act::raise_flag || before.s.what == act::await_flags;
    if (may_be_relaxed && one_in(random_, 2))
      out->s.b = 1;
    else
      out->s.what = act::nothing;
    return before;
  }

private:
  generator random_;
  program p_;
  std::vector<word> input_, initial_;
  interpreter::memory expected_;
};

void expect_right(random_run& r, options const& how) {
  try {
    EXPECT_TRUE(r.is_right(how)) << "other results with seed " << how.seed;
  } catch (fault const& f) {
    ADD_FAILURE() << f.what();
  }
}

bool is_noticed(random_run& r) {
  for (unsigned way = 0; way < 24; ++way) {
    try {
      if (!r.is_right(r.any_options(way))) return true;
    } catch (fault const&) {
      return true;
    }
  }
  return false;
}

/// Calls `check` with the seed of each program.
template <class Check> void for_programs(std::uint64_t count, Check check) {
  // Each commit has programs of its own: MK_SEED is made of its hash.
  auto const first = number_from("MK_SEED", 1);
  count = number_from("MK_RANDOM_LANES", std::getenv("MK_LONG") != nullptr ? 20 * count : count);
  for (std::uint64_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("repeat with: MK_RANDOM_LANES=1 MK_SEED=" + std::to_string(first + i) +
                 " ./mk test -R emulator_random_lanes");
    check(first + i);
  }
}

TEST(emulator_random_lanes, right_programs_give_no_report) {
  std::size_t steps = 0;
  for_programs(200, [&](std::uint64_t seed) {
    random_run r(seed);
    steps += r.steps();
    for (unsigned way = 0; way < 3; ++way) expect_right(r, r.any_options(way));
  });
  std::printf("%zu steps\n", steps);
}

TEST(emulator_random_lanes, what_is_needed_cannot_be_left_out) {
  std::size_t count = 0;
  std::set<act> kinds;
  for_programs(200, [&](std::uint64_t seed) {
    random_run r(seed);
    auto const out = r.leave_one_out();
    if (!out) return;
    EXPECT_TRUE(is_noticed(r)) << "left out: act " << static_cast<int>(out->s.what) << " of block "
                               << static_cast<int>(out->s.block);
    ++count;
    kinds.insert(out->s.what);
  });
  std::printf("%zu programs without a step, of %zu kinds\n", count, kinds.size());
}

} // namespace
} // namespace mk::test
