#pragma once

/// The kernel that carries out a program: each thread goes through the steps.

#include <megakernels/tylo/lane/async_proxy.hpp>
#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/cluster.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/memory.hpp>
#include <megakernels/tylo/lane/mma.hpp>
#include <megakernels/tylo/lane/thread.hpp>
#include <megakernels/tylo/numbers.hpp>

#include "../kit.hpp"
#include "../lane_kernels.hpp"
#include "program.hpp"

#include <cstdint>
#include <utility>

namespace mk::test::random_lanes {

/// What the kernel is given.
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

  word* block_at(unsigned block) const {
    if (block >= cta_block) return shared_words() + g_.of.cta_block_at(block);
    auto const begin = g_.of.team_begin(team_);
    if (block < shared_blocks) return shared_words() + barrier_words + block * g_.of.threads + begin;
    return g_.stored + (cta_rank() * stored_blocks + block - shared_blocks) * g_.of.threads + begin;
  }
  word& place(step const& s) const {
    return s.block < cta_block ? block_at(s.block)[(rank_ + s.k) % size_]
                               : block_at(s.block)[(thread_ + s.k) % g_.of.threads];
  }
  word& in_grid(unsigned buffer, unsigned cta, unsigned thread) const {
    return g_.grid[(buffer * g_.of.ctas + cta % g_.of.ctas) * g_.of.threads + thread % g_.of.threads];
  }
  word* stage(unsigned number) const { return shared_words() + g_.of.stage_at(number % g_.of.stages); }
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

  /// Small whole numbers of the bits of a word as a pair of bf16.
  static word small_pair(word bits) {
    auto const one = [](word b) { return word(bf16(static_cast<float>(static_cast<int>(b & 7) - 3)).bits); };
    return one(bits) | one(bits >> 4) << 16;
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
      return wait_phase(loaded(s.block), loads_[s.block]++);
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
      return wait_phase(meeting(team_), meetings_++);
    }
  }

  void of_messages(step const& s) {
    constexpr unsigned full_name = 3, empty_name = 4;
    auto const stages = g_.of.stages;
    bool const named = g_.of.kind == messages::by_named_barriers, loads = g_.of.kind == messages::by_loads;
    switch (s.what) {
    case act::await_empty:
      if (named && sent_ > 0) sync_named(empty_name, g_.of.threads);
      if (!named && (leads() || !loads)) wait_phase(empty(sent_ % stages), sent_ / stages + 1);
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
      return named ? sync_named(full_name, g_.of.threads) : wait_phase(full(received_ % stages), received_ / stages);
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
      return wait_phase(multicasted(), multicasts_++);
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

} // namespace mk::test::random_lanes
