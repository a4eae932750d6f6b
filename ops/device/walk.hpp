#pragma once

/// How threads share the cells of a rectangle.

#include <megakernels/tylo/target.hpp>

#include <algorithm>
#include <cstdint>

namespace mk::handlers {

/// One of `count` takers, which go through a rectangle row by row: taker i has the cells i, i + count, ...
struct taker {
  std::uint32_t rank;
  std::uint32_t count;
};

template <class Context> TYLO_FN taker as_thread(Context const& context) {
  return {context.thread(), Context::threads};
}
template <class Context> TYLO_FN taker as_warp(Context const& context) { return {context.warp(), Context::warps}; }

/// Calls `f(row, column)` for the taker's cells of [row_begin, row_end) x [column_begin, column_end).
template <class F>
TYLO_FN void walk(taker t, std::int64_t row_begin, std::int64_t row_end, std::int64_t column_begin,
                  std::int64_t column_end, F f) {
  auto const width = column_end - column_begin;
  if (width <= 0) return;
  // Any width over `count` divides alike: so 32 bits are enough.
  auto const divisor = static_cast<std::uint32_t>(std::min<std::int64_t>(width, std::int64_t(t.count) + 1));
  std::int64_t const rows_apart = t.count / divisor;
  std::int64_t const columns_apart = t.count % divisor;
  auto row = row_begin + t.rank / divisor;
  std::int64_t column = t.rank % divisor;
  while (row < row_end) {
    f(row, column_begin + column);
    row += rows_apart;
    column += columns_apart;
    if (column < width) continue;
    column -= width;
    ++row;
  }
}

} // namespace mk::handlers
