#pragma once

/// Barriers: mbarriers, those with names, and those of a warp.

#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/thread.hpp>

#include "../kit.hpp"
#include "../lane_kernels.hpp"
#include "words.hpp"

namespace mk::test::primitive_sites {

/// A warp fills a ring of two slots; another reads each part of 32 words backwards, and gives the slot back.
inline void ring_of_threads(word const* from, word* to) {
  constexpr unsigned slots = 2;
  auto* const full = barriers_behind(slots * 32);
  auto* const empty = full + slots;
  auto const thread = thread_rank();
  if (thread == 0)
    for (unsigned i = 0; i < slots; ++i) {
      init(full + i, 32);
      init(empty + i, 32);
    }
  sync_cta();
  for (unsigned i = 0; i < all_words / 32; ++i) {
    auto const slot = i % slots, lap = i / slots;
    auto* const words = shared_words() + slot * 32;
    if (thread < 32) {
      wait_phase(empty + slot, lap + 1);
      words[thread] = from[i * 32 + thread] + 1;
      arrive(full + slot);
    } else {
      wait_phase(full + slot, lap);
      to[i * 32 + thread - 32] = words[63 - thread];
      arrive(empty + slot);
    }
  }
}

inline bool run_ring_of_threads(options const& how) {
  return makes<ring_of_threads>({.threads = 64, .shared_bytes = 1024}, how, raised_backwards(32));
}

/// The same with named barriers and one slot.
inline void named_barriers(word const* from, word* to) {
  constexpr unsigned full = 1, empty = 2, both = 64, count = all_words / 32;
  auto const thread = thread_rank();
  for (unsigned i = 0; i < count; ++i)
    if (thread < 32) {
      if (i > 0) sync_named(empty, both);
      shared_words()[thread] = from[i * 32 + thread] + 1;
      arrive_named(full, both);
    } else {
      sync_named(full, both);
      to[i * 32 + thread - 32] = shared_words()[63 - thread];
      if (i + 1 < count) arrive_named(empty, both);
    }
}

inline bool run_named_barriers(options const& how) {
  return makes<named_barriers>({.threads = 64, .shared_bytes = 128}, how, raised_backwards(32));
}

/// The same by one warp.
inline void barriers_of_a_warp(word const* from, word* to) {
  for (auto i = lane_rank(); i < all_words; i += 32) {
    shared_words()[lane_rank()] = from[i] + 1;
    sync_warp();
    to[i] = shared_words()[31 - lane_rank()];
    sync_warp();
  }
}

inline bool run_barriers_of_a_warp(options const& how) {
  return makes<barriers_of_a_warp>({.threads = 32, .shared_bytes = 128}, how, raised_backwards(32));
}

} // namespace mk::test::primitive_sites
