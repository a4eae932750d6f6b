#include <megakernels/ops/box.hpp>

namespace mk {

void subtract(std::vector<box>& from, box const& hole) {
  auto const count = from.size();
  std::size_t kept = 0;
  std::vector<box> pieces;
  for (std::size_t i = 0; i < count; ++i) {
    auto rest = from[i];
    if (!overlap(rest, hole)) {
      from[kept++] = rest;
      continue;
    }
    for (std::size_t axis = 0; axis < max_rank; ++axis) {
      if (rest.begin[axis] < hole.begin[axis]) {
        pieces.push_back(rest);
        pieces.back().end[axis] = hole.begin[axis];
        rest.begin[axis] = hole.begin[axis];
      }
      if (rest.end[axis] > hole.end[axis]) {
        pieces.push_back(rest);
        pieces.back().begin[axis] = hole.end[axis];
        rest.end[axis] = hole.end[axis];
      }
    }
  }
  from.resize(kept);
  from.insert(from.end(), pieces.begin(), pieces.end());
}

} // namespace mk
