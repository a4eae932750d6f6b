#pragma once

/// Runs of a random program on the emulator.

#include "../kit.hpp"
#include "../lane_data.hpp"
#include "any_program.hpp"
#include "interpreter.hpp"
#include "kernel.hpp"
#include "program.hpp"
#include "step_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mk::test::random_lanes {

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
    using emulator::completion;
    constexpr completion when[] = {completion::late, completion::early, completion::random};
    return {.seed = way == 0 ? 0 : random_(), .asynchronous = when[way % 3], .batched = one_in(random_, 2)};
  }

  /// Throws what the emulator throws.
  [[nodiscard]] bool is_right(options const& how) const {
    std::vector<step> all;
    for (auto const& s : p_.steps) all.push_back(s.s);
    array<step> const steps(all);
    array<section> const sections(p_.sections);
    array<word> const input(input_), stored(initial_);
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

} // namespace mk::test::random_lanes
