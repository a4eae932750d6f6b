#pragma once

/// Places in a logical tile of rows and columns. They say nothing about memory or about who holds what.

#include <megakernels/tylo/target.hpp>

namespace tylo {

/// The two axes of a tile. What runs along `columns` stays in its row: a sum over `axis::columns` has one result a row.
enum class axis { rows, columns };

TYLO_FN constexpr axis other(axis a) { return a == axis::rows ? axis::columns : axis::rows; }

/// A place in a tile, or the way from one place to another, or the extents of a tile.
struct coordinate {
  int row = 0;
  int column = 0;

  TYLO_FN constexpr int along(axis a) const { return a == axis::rows ? row : column; }

  friend constexpr bool operator==(coordinate const&, coordinate const&) = default;
};

TYLO_FN constexpr coordinate operator+(coordinate a, coordinate b) { return {a.row + b.row, a.column + b.column}; }
TYLO_FN constexpr coordinate operator-(coordinate a, coordinate b) { return {a.row - b.row, a.column - b.column}; }
TYLO_FN constexpr coordinate operator*(int count, coordinate c) { return {count * c.row, count * c.column}; }

/// The same place after the axes have changed their names.
TYLO_FN constexpr coordinate exchanged(coordinate c) { return {c.column, c.row}; }

/// A way of `length` along one axis.
TYLO_FN constexpr coordinate step_along(axis a, int length) {
  int const row = a == axis::rows ? length : 0;
  return {row, length - row};
}

/// What is left of a place where all places along an axis are one.
TYLO_FN constexpr coordinate collapsed(coordinate c, axis a) { return c - step_along(a, c.along(a)); }

} // namespace tylo
