#pragma once

/// What whole CTAs do, at random, and what that needs.

#include "program.hpp"
#include "step_writer.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace mk::test::random_lanes {

/// Writes steps of all threads of a CTA. What an access needs for its order comes just before it.
class cta_writer : step_writer {
public:
  cta_writer(generator& random, shape const& of, std::vector<planned>& to) : step_writer(random, of, of.threads, to) {}

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
  void get(unsigned block, std::uint16_t k) {
    add({.what = act::get, .a = any_register(), .block = static_cast<std::uint8_t>(block), .k = k});
  }

  void through_shared() {
    auto const to = any_turn(), from = any_turn();
    add({.what = act::put, .a = any_register(), .block = cta_block, .k = to});
    add({.what = act::meet_cta}, to != from);
    get(cta_block, from);
  }

  void through_grid() {
    auto const buffer = below(random_, 2);
    if (grid_read_[buffer] != known::no) meet_grid(false, grid_read_[buffer] == known::yes);
    add({.what = act::put_to_grid, .a = any_register(), .b = static_cast<std::uint16_t>(buffer), .k = any_turn()});
    meet_grid(true, true);
    auto const distance = 1 + below(random_, of_.ctas - 1);
    add({.what = act::get_from_grid,
         .a = any_register(),
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
    add({.what = act::put_to_peer, .a = any_register(), .block = peer_block, .k = any_turn()});
    meet_cluster(known::yes);
    get(peer_block, any_turn());
    peer_read_ = known::yes;
  }

  void multicast() {
    meet_cluster(multicast_read_);
    add({.what = act::expect_multicast}, true);
    add({.what = act::multicast, .k = any_offset()});
    add({.what = act::await_multicast}, true);
    get(multicast_block, any_turn());
    multicast_read_ = known::yes;
  }

  std::array<known, 2> grid_read_{};
  known peer_read_ = known::no, multicast_read_ = known::no;
};

} // namespace mk::test::random_lanes
