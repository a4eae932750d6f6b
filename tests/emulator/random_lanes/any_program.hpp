#pragma once

/// Programs at random, in which whatever needs an order has one.

#include "cta_writer.hpp"
#include "program.hpp"
#include "step_writer.hpp"
#include "team_writer.hpp"

namespace mk::test::random_lanes {

inline shape any_shape(generator& random) {
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

inline program any_program(generator& random) {
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

} // namespace mk::test::random_lanes
