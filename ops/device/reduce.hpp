#pragma once

/// Sums and maxima over a warp, and over all threads of a task. The order is fixed: the bits depend on the values and
/// on who holds them, never on timing. Every thread gets the result.

#include <megakernels/tylo/lane/thread.hpp>
#include <megakernels/tylo/target.hpp>

namespace mk::handlers {

struct plus {
  template <class T> TYLO_FN T operator()(T a, T b) const { return a + b; }
};

/// The larger one; where one is NaN, the other.
struct larger {
  template <class T> TYLO_FN T operator()(T a, T b) const { return a > b || b != b ? a : b; }
};

/// Joins the values of a warp's lanes pairwise: those 16 lanes apart, then 8, 4, 2, 1. `join` is commutative, so that
/// all lanes get the same bits. All lanes take part.
template <class T, class Join> TYLO_FN T warp_reduce(T value, Join join) {
  for (unsigned apart = tylo::warp_size / 2; apart > 0; apart /= 2)
    value = join(value, tylo::shuffle_xor(value, apart));
  return value;
}

TYLO_FN inline float warp_sum(float value) { return warp_reduce(value, plus{}); }
TYLO_FN inline float warp_max(float value) { return warp_reduce(value, larger{}); }

/// Joins the values of all threads of a task: each warp as above, then warp after warp. `slots` has `Context::warps`
/// elements of scratch, free to use again afterwards. All threads take part: two barriers.
template <class Context, class T, class Join> TYLO_FN T team_reduce(Context& context, T value, T* slots, Join join) {
  value = warp_reduce(value, join);
  if (context.lane() == 0) slots[context.warp()] = value;
  context.sync();
  T all = slots[0];
  for (unsigned w = 1; w < Context::warps; ++w) all = join(all, slots[w]);
  context.sync();
  return all;
}

template <class Context> TYLO_FN float team_sum(Context& context, float value, float* slots) {
  return team_reduce(context, value, slots, plus{});
}
template <class Context> TYLO_FN float team_max(Context& context, float value, float* slots) {
  return team_reduce(context, value, slots, larger{});
}

} // namespace mk::handlers
