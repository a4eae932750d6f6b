#pragma once

/// Half-open boxes of coordinates: overlap, containment, difference.

#include <megakernels/ops/tensor.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace mk {

/// All coordinates from `begin` up to but not including `end`, axis by axis. Unused axes are [0, 1).
struct box {
  std::array<std::int64_t, max_rank> begin{};
  std::array<std::int64_t, max_rank> end{};

  friend bool operator==(box const&, box const&) = default;
};

inline bool is_empty(box const& b) {
  for (std::size_t i = 0; i < max_rank; ++i)
    if (b.begin[i] >= b.end[i]) return true;
  return false;
}

inline bool overlap(box const& a, box const& b) {
  for (std::size_t i = 0; i < max_rank; ++i)
    if (a.begin[i] >= b.end[i] || b.begin[i] >= a.end[i]) return false;
  return true;
}

inline bool contains(box const& outer, box const& inner) {
  for (std::size_t i = 0; i < max_rank; ++i)
    if (inner.begin[i] < outer.begin[i] || inner.end[i] > outer.end[i]) return false;
  return true;
}

/// Takes `hole` out of a set of disjoint boxes; what is left stays disjoint.
void subtract(std::vector<box>& from, box const& hole);

} // namespace mk
