#pragma once

/// Sums, maxima and other joins of a fragment's elements along an axis.
///
///     auto const most = max<axis::columns>(this_warp{}, scores);   // one result for each row
///     auto const shifted = scores - most;                          // needs no communication
///
/// All threads of the group take part, whatever their data: masks choose neutral values, never who calls. The order is
/// fixed by the ownership: first a thread's slots as a balanced tree, then lanes 16, 8, 4, 2, 1 apart, then warps in
/// their order. Joins are commutative, so that replicas have equal bits.

#include <megakernels/tylo/fragment/fragment.hpp>
#include <megakernels/tylo/group.hpp>
#include <megakernels/tylo/lane/math.hpp>
#include <megakernels/tylo/lane/thread.hpp>
#include <megakernels/tylo/layout/reduction.hpp>
#include <megakernels/tylo/site.hpp>

namespace tylo {

/// Joins for `reduce`.
struct add_values {
  template <class T> TYLO_FN T operator()(T a, T b) const { return a + b; }
};
struct larger_value {
  template <class T> TYLO_FN T operator()(T a, T b) const { return larger_of(a, b); }
};
struct smaller_value {
  template <class T> TYLO_FN T operator()(T a, T b) const { return smaller_of(a, b); }
};

namespace detail {

/// The slots that go into result R.
template <ownership O, axis Along, int R, int... I>
auto members_of(std::integer_sequence<int, I...>)
    -> std::integer_sequence<int, reduction_of<O, Along>.members[R * int(sizeof...(I)) + I]...>;

template <class Join, class T, ownership O, int... S>
TYLO_FN T join_slots(Join join, fragment<T, O> const& f, std::integer_sequence<int, S...>) {
  constexpr int count = sizeof...(S);
  T values[count] = {f.data[S]...};
  TYLO_UNROLL for (int apart = 1; apart < count; apart *= 2) {
    TYLO_UNROLL for (int i = 0; i + apart < count; i += 2 * apart) values[i] = join(values[i], values[i + apart]);
  }
  return values[0];
}

template <axis Along, int Each, class Join, class T, ownership O, int... R>
TYLO_FN fragment<T, reduced<O, Along>> join_in_threads(Join join, fragment<T, O> const& f,
                                                       std::integer_sequence<int, R...>) {
  return {{join_slots(join, f, decltype(members_of<O, Along, R>(std::make_integer_sequence<int, Each>{})){})...}};
}

/// What the lanes of each warp have together.
template <axis Along, class Join, class T, ownership O>
TYLO_FN fragment<T, reduced<O, Along>> join_in_warps(Join join, fragment<T, O> const& f, site at) {
  constexpr int results = reduced<O, Along>.slots();
  auto joined = join_in_threads<Along, O.slots() / results>(join, f, std::make_integer_sequence<int, results>{});
  TYLO_UNROLL for (int r = 0; r < results; ++r) joined.data[r] =
      join_lanes<distances_of<O, Along>>(joined.data[r], join, at);
  return joined;
}

template <class T> inline constexpr bool can_be_joined = std::is_arithmetic_v<T> && sizeof(T) >= 4;

/// One sentence about what is wrong, if anything is.
template <group G, axis Along, class T, ownership O, bool AcrossWarps> TYLO_FN constexpr bool check_reduction() {
  constexpr auto verdict = verdict_of<O, Along>;
  static_assert(can_be_joined<T>, "tylo: elements of 8 or 16 bits are not reduced: convert them first, to fp32 say");
  static_assert(G::threads == O.threads(), "tylo: the group has not as many threads as own the fragment");
  static_assert(AcrossWarps || verdict != reduction_verdict::spans_warps,
                "tylo: this axis spans several warps: call reduce_across_warps, with scratch in shared memory");
  static_assert(verdict != reduction_verdict::outside, "tylo: a thread has elements outside of the tile");
  static_assert(verdict != reduction_verdict::incomplete, "tylo: not every element along this axis has an owner");
  static_assert(verdict != reduction_verdict::repeated,
                "tylo: elements along this axis would be counted more than once");
  static_assert(verdict != reduction_verdict::irregular_slots,
                "tylo: the slots of a thread lie differently in different lines: there is no plan for this axis");
  return can_be_joined<T> && G::threads == O.threads() &&
         (verdict == reduction_verdict::possible || (AcrossWarps && verdict == reduction_verdict::spans_warps));
}

} // namespace detail

/// Joins all elements along an axis, which lies within warps. The result has extent 1 there, and the lanes that joined
/// are its replicas. `join(a, b)` is commutative; each result takes one shuffle for each bit of `distances_of<O,
/// Along>`.
template <axis Along, group G, class T, ownership O, class Join>
TYLO_FN auto reduce(G, fragment<T, O> const& f, Join join, site at = site::here()) {
  if constexpr (detail::check_reduction<G, Along, T, O, false>())
    return detail::join_in_warps<Along>(join, f, at);
  else
    return f;
}

template <axis Along, group G, class T, ownership O>
TYLO_FN auto sum(G g, fragment<T, O> const& f, site at = site::here()) {
  return reduce<Along>(g, f, add_values{}, at);
}
/// Where elements are NaN, of the others.
template <axis Along, group G, class T, ownership O>
TYLO_FN auto max(G g, fragment<T, O> const& f, site at = site::here()) {
  return reduce<Along>(g, f, larger_value{}, at);
}
/// Where elements are NaN, of the others.
template <axis Along, group G, class T, ownership O>
TYLO_FN auto min(G g, fragment<T, O> const& f, site at = site::here()) {
  return reduce<Along>(g, f, smaller_value{}, at);
}

namespace detail {
/// Where lanes all have the same results one of them writes for its warp.
template <ownership O, axis Along>
inline constexpr unsigned lanes_that_write = distances_of<O, Along> == warp_size - 1 ? 1 : warp_size;
} // namespace detail

/// Elements of scratch that `reduce_across_warps` needs.
template <ownership O, axis Along>
inline constexpr unsigned scratch_elements =
    O.threads() / 32 * reduced<O, Along>.slots() * detail::lanes_that_write<O, Along>;

namespace detail {
/// Where all threads of the group find the scratch.
template <group G, class T> TYLO_FN T* common_scratch(G const& g, T* mine, site at) {
  if constexpr (requires { g.common(mine, at); })
    return g.common(mine, at);
  else
    return mine;
}
} // namespace detail

/// The same for an axis that spans warps of the group. `mine` is shared memory of `scratch_elements<O, Along>`
/// elements, in a pair of CTAs at the same place of both; nobody else uses it meanwhile, and it is free afterwards. Two
/// barriers of the group.
template <axis Along, group G, class T, ownership O, class Join>
TYLO_FN auto reduce_across_warps(G const& g, fragment<T, O> const& f, Join join, T* mine, site at = site::here()) {
  if constexpr (!detail::check_reduction<G, Along, T, O, true>()) {
    return f;
  } else {
    constexpr auto across = other(Along);
    constexpr int results = reduced<O, Along>.slots();
    constexpr unsigned count = O.threads() / warp_size, lanes = detail::lanes_that_write<O, Along>;
    auto* const scratch = detail::common_scratch(g, mine, at);
    auto joined = detail::join_in_warps<Along>(join, f, at);
    auto const warp = g.rank() / warp_size;
    auto const lane = lanes == 1 ? 0 : g.rank() % warp_size;
    if (lanes > 1 || g.rank() % warp_size == 0) {
      TYLO_UNROLL for (int r = 0; r < results; ++r)
          scratch[(warp * results + static_cast<unsigned>(r)) * lanes + lane] = joined.data[r];
    }
    g.sync(at.at_step(1));
    auto const line = O.thread(warp * warp_size).along(across);
    bool first = true;
    TYLO_UNROLL for (unsigned w = 0; w < count; ++w) {
      auto const place = O.thread(w * warp_size);
      bool replica = false;
      TYLO_UNROLL for (unsigned v = 0; v < w; ++v) replica = replica || O.thread(v * warp_size) == place;
      if (replica || place.along(across) != line) continue;
      TYLO_UNROLL for (int r = 0; r < results; ++r) {
        auto const part = scratch[(w * results + static_cast<unsigned>(r)) * lanes + lane];
        joined.data[r] = first ? part : join(joined.data[r], part);
      }
      first = false;
    }
    g.sync(at.at_step(2));
    return joined;
  }
}

} // namespace tylo
