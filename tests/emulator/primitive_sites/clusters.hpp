#pragma once

/// Pairs of CTAs that reach for each other's shared memory.

#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/cluster.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/thread.hpp>

#include "../kit.hpp"
#include "../lane_kernels.hpp"
#include "words.hpp"

namespace mk::test::primitive_sites {

inline constexpr grid pair_of_ctas{.ctas = 2, .threads = 32, .shared_bytes = 256, .cluster = 2};

/// A pair of CTAs writes into each other's shared memory.
inline void peers(word const* from, word* to) {
  constexpr unsigned rounds = all_words / 64;
  auto* const full = barriers_behind(32);
  auto const thread = thread_rank(), rank = cluster_rank();
  if (thread == 0) init(full, 32);
  sync_cluster();
  for (unsigned i = 0; i < rounds; ++i) {
    auto const at = (i * 2 + rank) * 32;
    *peer_address(shared_words() + thread, rank ^ 1) = from[at + thread] + 1;
    arrive_at_peer(full, rank ^ 1);
    wait_phase(full, i);
    to[at + thread] = shared_words()[31 - thread];
    sync_cluster();
  }
}

inline bool run_peers(options const& how) {
  word_list expected(all_words);
  for (unsigned i = 0; i < all_words; ++i) expected[i] = some_words()[(i / 32 ^ 1) * 32 + 31 - i % 32] + 1;
  return makes<peers>(pair_of_ctas, how, expected);
}

/// A pair of CTAs reads each other's shared memory.
inline void reads_of_a_peer(word const* from, word* to) {
  auto const thread = thread_rank(), rank = cluster_rank();
  shared_words()[thread] = from[rank * 32 + thread] + 1;
  sync_cluster();
  to[rank * 32 + thread] = *peer_address(shared_words() + 31 - thread, rank ^ 1);
  sync_cluster();
}

inline bool run_reads_of_a_peer(options const& how) {
  word_list expected(64);
  for (unsigned i = 0; i < 64; ++i) expected[i] = some_words()[63 - i] + 1;
  return makes<reads_of_a_peer>(pair_of_ctas, how, expected);
}

/// One CTA loads pieces into a slot of both, and is told by both when they have read it.
inline void multicasts_to_one_slot(word const* from, word* to) {
  auto* const full = barriers_behind(piece);
  auto* const empty = full + 1;
  auto const thread = thread_rank(), rank = cluster_rank();
  if (thread == 0) {
    init(full, 1);
    init(empty, 2 * piece);
    publish_barriers();
  }
  sync_cluster();
  for (unsigned i = 0; i < pieces; ++i) {
    if (thread == 0) arrive_expecting(full, piece * 4);
    if (thread == 0 && rank == 0) {
      wait_phase(empty, i + 1);
      bulk_load_multicast(shared_words(), from + i * piece, piece * 4, full, 3);
    }
    wait_phase(full, i);
    if (i % 2 == rank) to[i * piece + thread] = shared_words()[piece - 1 - thread] + 1;
    arrive_at_peer(empty, 0);
  }
  sync_cluster();
}

inline bool run_multicasts_to_one_slot(options const& how) {
  return makes<multicasts_to_one_slot>({.ctas = 2, .threads = piece, .shared_bytes = piece * 4 + 16, .cluster = 2}, how,
                                       raised_backwards(piece));
}

/// See lane_kernels.hpp.
inline bool run_multicast(options const& how) {
  array<word> const from(some_words()), to(2 * all_words);
  multicast_arguments const g{from.data(), to.data(), all_words / 2};
  launch({.ctas = 2, .threads = multicast_threads, .shared_bytes = multicast_shared(all_words / 2), .cluster = 2}, how,
         [g] { multicast(g); });
  auto expected = some_words();
  expected.insert(expected.end(), some_words().begin(), some_words().end());
  return contents_of(to) == expected;
}

} // namespace mk::test::primitive_sites
