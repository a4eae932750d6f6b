#pragma once

/// Who holds which element of a tile: (thread, slot) -> coordinate, as constant data. It is independent of memory.
///
///     constexpr auto rows = tylo::local<axis::columns>(8);          // 32 x 8: lane i has row i, 8 columns of it
///     constexpr auto striped = tylo::striped<axis::columns>(4);     // 1 x 128: neighbours are in neighbouring lanes
///     constexpr tylo::ownership patches{{16, 8}, steps(8, {2, 0}).then(4, {0, 2}), steps(2, {1, 0}).then(2, {0, 1})};
///
/// An ownership is a value that can be a template argument. Equal maps of one shape are equal values.

#include <megakernels/tylo/layout/mode.hpp>

namespace tylo {

/// Thread t (of a group, from 0) has in slot s the element at thread(t) + slot(s). An element may have several owners:
/// they hold equal values (replicas).
struct ownership {
  coordinate shape;
  mode thread;
  mode slot;

  TYLO_FN constexpr int threads() const { return thread.size(); }
  TYLO_FN constexpr int slots() const { return slot.size(); }
  TYLO_FN constexpr coordinate operator()(unsigned t, unsigned s) const { return thread(t) + slot(s); }

  friend constexpr bool operator==(ownership const&, ownership const&) = default;
};

/// Each of `threads` threads has `count` neighbours along `Along`: a tile of `threads` x `count` along columns.
template <axis Along> constexpr ownership local(int count, int threads = 32) {
  auto const across = other(Along);
  return {step_along(across, threads) + step_along(Along, count), steps(threads, step_along(across, 1)),
          steps(count, step_along(Along, 1))};
}

/// `threads` threads share one line along `Along`, each with `count` groups of `vector` neighbours: a tile of
/// 1 x `threads * count * vector` along columns. With `vector` elements of 16 bytes each thread moves 16 bytes at once
/// and a warp's are neighbours.
template <axis Along> constexpr ownership striped(int count, int vector = 1, int threads = 32) {
  return {step_along(other(Along), 1) + step_along(Along, threads * count * vector),
          steps(threads, step_along(Along, vector)),
          steps(vector, step_along(Along, 1)).then(count, step_along(Along, threads * vector))};
}

/// How often a tile is repeated: down, and to the right.
struct repeats {
  int rows = 1;
  int columns = 1;
};

/// A larger tile: each warp has `per_warp` copies of the part's tile side by side, and warps lie side by side, those
/// along rows first.
constexpr ownership tiled(ownership const& part, repeats per_warp, repeats warps = {}) {
  coordinate const one{part.shape.row * per_warp.rows, part.shape.column * per_warp.columns};
  ownership o;
  o.shape = {one.row * warps.rows, one.column * warps.columns};
  o.thread = part.thread.then(warps.rows, {one.row, 0}).then(warps.columns, {0, one.column});
  o.slot = part.slot.then(per_warp.rows, {part.shape.row, 0}).then(per_warp.columns, {0, part.shape.column});
  return o;
}

/// The axes change their names: every thread keeps its values in their slots.
constexpr ownership exchanged(ownership const& o) {
  return {exchanged(o.shape), exchanged(o.thread), exchanged(o.slot)};
}

/// The map as a table. It is the sum of a part for threads and one for slots, so that threads + slots entries tell what
/// threads * slots would.
template <int Threads, int Slots> struct ownership_table {
  coordinate thread[Threads];
  coordinate slot[Slots];
};

template <ownership O>
inline constexpr auto table_of = [] {
  ownership_table<O.threads(), O.slots()> t{};
  for (int i = 0; i < O.threads(); ++i) t.thread[i] = O.thread(static_cast<unsigned>(i));
  for (int i = 0; i < O.slots(); ++i) t.slot[i] = O.slot(static_cast<unsigned>(i));
  return t;
}();

/// What is known of an ownership.
struct ownership_facts {
  bool in_bounds = false; ///< nobody holds what is outside of the tile
  bool covers = false;    ///< every element has an owner
  int replicas = 0;       ///< owners of each element, if all have as many; else 0
};

/// Whether nobody holds what is outside of the tile.
template <ownership O>
inline constexpr bool is_in_bounds = [] {
  constexpr auto& table = table_of<O>;
  coordinate low, high; // of slots
  for (auto const& s : table.slot) {
    low = {s.row < low.row ? s.row : low.row, s.column < low.column ? s.column : low.column};
    high = {s.row > high.row ? s.row : high.row, s.column > high.column ? s.column : high.column};
  }
  for (auto const& t : table.thread)
    if (t.row + low.row < 0 || t.column + low.column < 0 || t.row + high.row >= O.shape.row ||
        t.column + high.column >= O.shape.column)
      return false;
  return true;
}();

/// Counts the owners of every element.
template <ownership O>
inline constexpr ownership_facts facts_of = [] {
  if (!is_in_bounds<O>) return ownership_facts{};
  constexpr auto& table = table_of<O>;
  ownership_facts facts{true, true, 0};
  short owners[O.shape.row * O.shape.column] = {};
  for (auto const& t : table.thread)
    for (auto const& s : table.slot) ++owners[(t.row + s.row) * O.shape.column + t.column + s.column];
  facts.replicas = owners[0];
  for (auto const n : owners) {
    if (n == 0) facts.covers = false;
    if (n != owners[0]) facts.replicas = 0;
  }
  return facts;
}();

/// Whether all of a tile is owned, and nothing else.
template <ownership O>
inline constexpr bool is_complete = [] {
  constexpr auto facts = facts_of<O>;
  return facts.in_bounds && facts.covers;
}();

/// How many owners every element has; 0 where they differ.
template <ownership O>
inline constexpr int replicas = [] {
  constexpr auto facts = facts_of<O>;
  return facts.replicas;
}();

} // namespace tylo
