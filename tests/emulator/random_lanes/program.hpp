#pragma once

/// Programs of the lane functions: what the threads of some CTAs do, step by step.

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace mk::test::random_lanes {

using word = std::uint32_t;

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
inline constexpr unsigned both = 2;

inline constexpr unsigned registers = 4, shared_blocks = 4, stored_blocks = 2, most_stages = 3;
/// Blocks of the whole CTA, which come after those of the teams.
inline constexpr unsigned cta_block = shared_blocks + stored_blocks, peer_block = cta_block + 1,
                          multicast_block = cta_block + 2;
inline constexpr unsigned barrier_words = 64, input_words = 2048, most_offset = 400;

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

} // namespace mk::test::random_lanes
