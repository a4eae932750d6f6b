#pragma once

/// Copies: by the copy engine, and small ones of each thread.

#include <megakernels/tylo/lane/async_proxy.hpp>
#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/memory.hpp>
#include <megakernels/tylo/lane/thread.hpp>

#include "../kit.hpp"
#include "../lane_kernels.hpp"
#include "words.hpp"

#include <algorithm>

namespace mk::test::primitive_sites {

/// A warp loads pieces into a ring of three slots; two others raise them there, and give the slots back.
inline void ring_of_loads(word const* from, word* to) {
  constexpr unsigned slots = 3;
  auto* const full = barriers_behind(slots * piece);
  auto* const empty = full + slots;
  auto const thread = thread_rank();
  if (thread == 0) {
    for (unsigned i = 0; i < slots; ++i) {
      init(full + i, 1);
      init(empty + i, piece);
    }
    publish_barriers();
  }
  sync_cta();
  for (unsigned i = 0; i < pieces; ++i) {
    auto const slot = i % slots, lap = i / slots;
    auto* const words = shared_words() + slot * piece;
    if (thread == 0) {
      wait_phase(empty + slot, lap + 1);
      arrive_expecting(full + slot, piece * 4);
      bulk_load(words, from + i * piece, piece * 4, full + slot);
    } else if (thread >= 32) {
      auto const mine = thread - 32;
      wait_phase(full + slot, lap);
      words[mine] += 1;
      to[i * piece + mine] = words[mine];
      fence_async_proxy();
      arrive(empty + slot);
    }
  }
}

inline bool run_ring_of_loads(options const& how) {
  return makes<ring_of_loads>({.threads = 96, .shared_bytes = 1024}, how, raised());
}

/// Stores pieces from two slots; then other threads read what was stored.
inline void stores_from_two_slots(word const* from, word* to) {
  auto const thread = thread_rank();
  auto* const stored = to + all_words;
  for (unsigned i = 0; i < pieces; ++i) {
    auto* const words = shared_words() + i % 2 * piece;
    if (thread == 0) await_bulk_stores_read<1>();
    sync_cta();
    words[thread] = from[i * piece + thread] + 1;
    fence_async_proxy();
    sync_cta();
    if (thread == 0) {
      bulk_store(stored + i * piece, words, piece * 4);
      commit_bulk_stores();
    }
  }
  if (thread == 0) await_bulk_stores<0>();
  sync_cta();
  for (auto i = thread; i < all_words; i += piece) to[i] = stored[all_words - 1 - i];
}

inline bool run_stores_from_two_slots(options const& how) {
  return makes<stores_from_two_slots>({.threads = piece, .shared_bytes = 2 * piece * 4}, how,
                                      raised_backwards(all_words));
}

/// CTA 0 stores what CTA 1 then loads.
inline void stores_to_loads(word const* from, word* stored, word* flag, word* to) {
  auto const thread = thread_rank();
  if (cta_rank() == 0) {
    shared_words()[thread] = from[thread] + 1;
    fence_async_proxy();
    sync_cta();
    if (thread != 0) return;
    bulk_store(stored, shared_words(), piece * 4);
    commit_bulk_stores();
    await_bulk_stores<0>();
    store_release(flag, word(1));
    return;
  }
  auto* const done = barriers_behind(piece);
  if (thread == 0) {
    init(done, 1);
    publish_barriers();
    while (load_acquire(flag) == 0) {
    }
    arrive_expecting(done, piece * 4);
    bulk_load(shared_words(), stored, piece * 4, done);
  }
  sync_cta();
  wait_phase(done, 0);
  to[thread] = shared_words()[thread];
}

inline bool run_stores_to_loads(options const& how) {
  array<word> const from(some_words()), stored(piece), flag(1, contents::zero), to(piece);
  launch({.ctas = 2, .threads = piece, .shared_bytes = piece * 4 + 8}, how,
         [from = from.data(), stored = stored.data(), flag = flag.data(), to = to.data()] {
           stores_to_loads(from, stored, flag, to);
         });
  word_list const expected = raised();
  return std::equal(to.span().begin(), to.span().end(), expected.begin());
}

/// See lane_kernels.hpp.
inline bool run_round_trip(options const& how) {
  array<word> const from(some_words()), to(all_words);
  round_trip_arguments const g{from.data(), to.data(), pieces, piece};
  launch({.threads = round_trip_threads, .shared_bytes = round_trip_shared(piece)}, how, [g] { round_trip(g); });
  return contents_of(to) == raised();
}

/// A piece is under way while the one before it is read.
inline void groups_of_copies(word const* from, word* to) {
  auto const thread = thread_rank();
  auto const start = [&](unsigned i) {
    copy_async<4>(shared_words() + i % 2 * piece + thread, from + i * piece + thread);
  };
  start(0);
  commit_copies();
  for (unsigned i = 0; i < pieces; ++i) {
    if (i + 1 < pieces) start(i + 1);
    commit_copies();
    await_copies<1>();
    sync_cta();
    to[i * piece + thread] = shared_words()[i % 2 * piece + piece - 1 - thread] + 1;
    sync_cta();
  }
}

inline bool run_groups_of_copies(options const& how) {
  return makes<groups_of_copies>({.threads = piece, .shared_bytes = 2 * piece * 4}, how, raised_backwards(piece));
}

/// What small copies wrote is stored by the copy engine.
inline void copies_to_stores(word const* from, word* to) {
  auto const thread = thread_rank();
  copy_async<16>(shared_words() + thread * 4, from + thread * 4);
  commit_copies();
  await_copies<0>();
  fence_async_proxy();
  sync_cta();
  if (thread != 0) return;
  bulk_store(to, shared_words(), all_words * 4);
  commit_bulk_stores();
  await_bulk_stores_read<0>();
}

inline bool run_copies_to_stores(options const& how) {
  return makes<copies_to_stores>({.threads = all_words / 4, .shared_bytes = all_words * 4}, how, some_words());
}

/// Threads tell by an mbarrier of what they copied.
inline void copies_and_arrivals(word const* from, word* to) {
  auto* const full = barriers_behind(piece);
  auto const thread = thread_rank();
  if (thread == 0) init(full, piece);
  sync_cta();
  for (unsigned i = 0; i < pieces; ++i) {
    copy_async<4>(shared_words() + thread, from + i * piece + thread);
    commit_copies();
    await_copies<0>();
    arrive(full);
    wait_phase(full, i);
    to[i * piece + thread] = shared_words()[piece - 1 - thread] + 1;
    sync_cta();
  }
}

inline bool run_copies_and_arrivals(options const& how) {
  return makes<copies_and_arrivals>({.threads = piece, .shared_bytes = piece * 4 + 8}, how, raised_backwards(piece));
}

} // namespace mk::test::primitive_sites
