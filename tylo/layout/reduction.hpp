#pragma once

/// How the values of an ownership are joined along an axis, found by going over its table.
///
/// First each thread joins those of its slots that differ along the axis alone, then lanes join pairwise: one exchange
/// for each bit of the lane's rank whose flip moves along the axis alone. Bits whose flip changes nothing tell replicas
/// apart, and are left alone.

#include <megakernels/tylo/layout/ownership.hpp>

namespace tylo {

/// Whether an axis can be reduced, and if not, why.
enum class reduction_verdict {
  possible,       ///< each warp has whole lines
  spans_warps,    ///< lines are spread over several warps, which have whole lines together
  outside,        ///< a thread has elements outside of the tile
  incomplete,     ///< not every element of a line has an owner
  repeated,       ///< a thread, or the lanes that would be joined, have an element twice
  irregular_slots ///< slots of a thread lie differently in different lines, or the results have no mode
};

/// `Slots` is the number of slots of what is reduced.
template <int Slots> struct reduction_plan {
  reduction_verdict verdict = reduction_verdict::possible;
  int results = 0;         ///< slots of the result
  int members[Slots] = {}; ///< slots that are joined to result 0, then those of result 1, ...
  unsigned distances = 0;  ///< of lanes that join, a bit each
  ownership result;        ///< of what comes out; where lanes or warps joined they are its replicas
};

namespace detail {

template <ownership O, axis Along> constexpr reduction_plan<O.slots()> plan_reduction() {
  constexpr int threads = O.threads(), slots = O.slots(), lanes = threads < 32 ? threads : 32;
  constexpr auto& table = table_of<O>;
  constexpr int extent = O.shape.along(Along);
  constexpr auto across = other(Along);
  reduction_plan<slots> plan;
  auto const refused = [&](reduction_verdict why) {
    plan.verdict = why;
    return plan;
  };

  if (!is_in_bounds<O>) return refused(reduction_verdict::outside);
  if (threads % lanes != 0 || (lanes & (lanes - 1)) != 0) return refused(reduction_verdict::irregular_slots);

  // Slots of the same line.
  int first_of[slots] = {}, result_of[slots] = {};
  for (int s = 0; s < slots; ++s) {
    int r = 0;
    while (r < plan.results && table.slot[first_of[r]].along(across) != table.slot[s].along(across)) ++r;
    if (r == plan.results) first_of[plan.results++] = s;
    result_of[s] = r;
  }
  int const each = slots / plan.results;
  for (int r = 0; r < plan.results; ++r) {
    int found = 0;
    for (int s = 0; s < slots; ++s)
      if (result_of[s] == r) {
        if (found < each) plan.members[r * each + found] = s;
        ++found;
      }
    if (found != each) return refused(reduction_verdict::irregular_slots);
    for (int k = 0; k < each; ++k)
      if (table.slot[plan.members[r * each + k]].along(Along) != table.slot[plan.members[k]].along(Along))
        return refused(reduction_verdict::irregular_slots);
  }

  // Lanes of the same line.
  int joined = each;
  for (unsigned bit = 1; bit < static_cast<unsigned>(lanes); bit *= 2) {
    bool stays = true, moves = false;
    for (unsigned t = 0; t < static_cast<unsigned>(threads) && stays; ++t) {
      auto const way = table.thread[t ^ bit] - table.thread[t];
      stays = way.along(across) == 0;
      moves = moves || way.along(Along) != 0;
    }
    if (!stays || !moves) continue;
    plan.distances |= bit;
    joined *= 2;
  }

  // The elements that a warp joins are different ones. Warps are alike but for a way that all their lanes have gone.
  for (unsigned t = 0; t < static_cast<unsigned>(threads); ++t)
    if (!(table.thread[t] == table.thread[t % 32] + table.thread[t / 32 * 32]))
      return refused(reduction_verdict::irregular_slots);
  bool in_warp[extent] = {};
  for (unsigned base = 0; base < static_cast<unsigned>(lanes); ++base) {
    if ((base & plan.distances) != 0) continue;
    for (auto& seen : in_warp) seen = false;
    for (unsigned l = 0; l < static_cast<unsigned>(lanes); ++l) {
      if ((l & ~plan.distances) != base) continue;
      for (int k = 0; k < each; ++k) {
        int const at = table.thread[l].along(Along) + table.slot[plan.members[k]].along(Along);
        if (in_warp[at]) return refused(reduction_verdict::repeated);
        in_warp[at] = true;
      }
    }
  }

  // What is missing lies in other warps.
  if (joined != extent) {
    plan.verdict = reduction_verdict::spans_warps;
    for (unsigned base = 0; base < static_cast<unsigned>(lanes); ++base) {
      if ((base & plan.distances) != 0) continue;
      bool in_group[extent] = {};
      int covered = 0;
      for (unsigned w = 0; w < static_cast<unsigned>(threads); w += 32) {
        if (table.thread[w].along(across) != 0) continue; // other lines
        bool again = false;
        for (unsigned v = 0; v < w; v += 32) again = again || table.thread[v] == table.thread[w];
        if (again) continue; // a replica
        for (unsigned l = 0; l < static_cast<unsigned>(lanes); ++l) {
          if ((l & ~plan.distances) != base) continue;
          for (int k = 0; k < each; ++k) {
            int const at = table.thread[w + l].along(Along) + table.slot[plan.members[k]].along(Along);
            if (in_group[at]) return refused(reduction_verdict::repeated);
            in_group[at] = true;
            ++covered;
          }
        }
      }
      if (covered != extent) return refused(reduction_verdict::incomplete);
    }
  }

  plan.result.shape = collapsed(O.shape, Along) + step_along(Along, 1);
  auto const thread = fit_mode(threads, [&](int t) { return collapsed(table.thread[t], Along); });
  auto const slot = fit_mode(plan.results, [&](int r) { return collapsed(table.slot[first_of[r]], Along); });
  if (!thread.fits || !slot.fits) return refused(reduction_verdict::irregular_slots);
  plan.result.thread = thread.found;
  plan.result.slot = slot.found;
  return plan;
}

} // namespace detail

/// The plan for an ownership along an axis.
template <ownership O, axis Along> inline constexpr auto reduction_of = detail::plan_reduction<O, Along>();

/// Who holds the results. For an axis that cannot be reduced it means nothing.
template <ownership O, axis Along>
inline constexpr ownership reduced = [] {
  constexpr auto plan = reduction_of<O, Along>;
  return plan.result;
}();

template <ownership O, axis Along>
inline constexpr reduction_verdict verdict_of = [] {
  constexpr auto plan = reduction_of<O, Along>;
  return plan.verdict;
}();

/// The distances of the lanes that a reduction joins, a bit each: as many exchanges for each slot of its result.
template <ownership O, axis Along>
inline constexpr unsigned distances_of = [] {
  constexpr auto plan = reduction_of<O, Along>;
  return plan.distances;
}();

} // namespace tylo
