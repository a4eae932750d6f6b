#pragma once

/// A primitive of one's own, made from an ownership's table.

#include <megakernels/tylo/fragment/fragment.hpp>
#include <megakernels/tylo/group.hpp>
#include <megakernels/tylo/layout/ownership.hpp>

// [columns]
/// The column of each element that the calling thread of the group owns, for masks.
template <tylo::ownership O, tylo::group G> TYLO_FN tylo::fragment<int, O> columns_of(G const& g) {
  static_assert(G::threads == O.threads());
  constexpr auto table = tylo::table_of<O>; // a local copy: device code cannot read the variable itself
  tylo::fragment<int, O> result;
  int const first = O.thread(g.rank()).column;
  TYLO_UNROLL for (int s = 0; s < result.slots; ++s) result.data[s] = first + table.slot[s].column;
  return result;
}
// [/columns]
