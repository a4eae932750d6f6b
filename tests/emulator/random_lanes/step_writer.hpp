#pragma once

/// What those share that write steps of random programs.

#include "program.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace mk::test::random_lanes {

using generator = std::mt19937_64;

inline unsigned below(generator& random, std::size_t n) { return static_cast<unsigned>(random() % n); }
inline bool one_in(generator& random, unsigned n) { return below(random, n) == 0; }

/// Whether something is so.
enum class known : std::uint8_t { no, maybe, yes };

/// Writes steps of some threads of a CTA.
class step_writer {
protected:
  step_writer(generator& random, shape const& of, unsigned size, std::vector<planned>& to)
      : random_(random), of_(of), size_(size), to_(to) {}

  /// Returns the number of the step.
  std::size_t add(step const& s, bool needed = false) {
    to_.push_back({s, needed});
    return to_.size() - 1;
  }

  std::uint8_t any_register() { return static_cast<std::uint8_t>(below(random_, registers)); }
  std::uint16_t any_turn() { return static_cast<std::uint16_t>(below(random_, size_)); }
  std::uint16_t any_offset() { return static_cast<std::uint16_t>(below(random_, most_offset)); }

  generator& random_;
  shape const& of_;
  unsigned size_; ///< threads
  std::vector<planned>& to_;
};

} // namespace mk::test::random_lanes
