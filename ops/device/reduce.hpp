#pragma once

/// Sums and maxima over a warp, and over all threads of a task. The order is fixed: the bits depend on the values and
/// on who holds them, never on timing. Every thread gets the result.

#include <megakernels/tylo/fragment/reduce.hpp>
#include <megakernels/tylo/lane/math.hpp>
#include <megakernels/tylo/target.hpp>

namespace mk::handlers {

TYLO_FN inline float warp_sum(float value) { return tylo::join_lanes(value, tylo::add_values{}); }
/// Where values are NaN, of the others.
TYLO_FN inline float warp_max(float value) { return tylo::join_lanes(value, tylo::larger_value{}); }

/// Joins the values of all threads of a task. `slots` has `Context::warps` elements of scratch, free to use again
/// afterwards. All threads take part: two barriers.
template <class Context, class Join> TYLO_FN float team_reduce(Context& context, float value, float* slots, Join join) {
  constexpr auto line = tylo::striped<tylo::axis::columns>(1, 1, Context::threads);
  tylo::fragment<float, line> const mine{{value}};
  return only(tylo::reduce_across_warps<tylo::axis::columns>(context.group(), mine, join, slots));
}

template <class Context> TYLO_FN float team_sum(Context& context, float value, float* slots) {
  return team_reduce(context, value, slots, tylo::add_values{});
}
template <class Context> TYLO_FN float team_max(Context& context, float value, float* slots) {
  return team_reduce(context, value, slots, tylo::larger_value{});
}

} // namespace mk::handlers
