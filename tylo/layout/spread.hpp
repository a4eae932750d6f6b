#pragma once

/// Which slot of one ownership has what a slot of another needs, in the same thread: for operands that are combined
/// element by element.

#include <megakernels/tylo/layout/ownership.hpp>

namespace tylo {

/// `from[s]`: the slot that goes with slot s.
template <int Slots> struct spread_plan {
  bool possible = true;
  int from[Slots] = {};
};

namespace detail {

template <ownership To, ownership From> constexpr spread_plan<To.slots()> plan_spread() {
  constexpr auto& to = table_of<To>;
  constexpr auto& from = table_of<From>;
  // An axis of one element goes with all elements of the other.
  auto const seen = [](coordinate c) {
    return coordinate{From.shape.row == 1 ? 0 : c.row, From.shape.column == 1 ? 0 : c.column};
  };
  spread_plan<To.slots()> plan;
  plan.possible = To.threads() == From.threads() && (From.shape.row == 1 || From.shape.row == To.shape.row) &&
                  (From.shape.column == 1 || From.shape.column == To.shape.column);
  if (!plan.possible) return plan;
  for (int t = 0; t < To.threads(); ++t) plan.possible = plan.possible && from.thread[t] == seen(to.thread[t]);
  for (int s = 0; s < To.slots() && plan.possible; ++s) {
    int f = 0;
    while (f < From.slots() && !(from.slot[f] == seen(to.slot[s]))) ++f;
    plan.possible = f < From.slots();
    plan.from[s] = f;
  }
  return plan;
}

} // namespace detail

/// How `From` goes with `To`: the same elements in the same threads, or one element for each line of `To` where it is a
/// reduction of it.
template <ownership To, ownership From> inline constexpr auto spread_of = detail::plan_spread<To, From>();

template <ownership To, ownership From>
inline constexpr bool spreads_to = [] {
  constexpr auto plan = spread_of<To, From>;
  return plan.possible;
}();

} // namespace tylo
