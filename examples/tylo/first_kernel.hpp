#pragma once

/// A kernel of tile primitives: the root-mean-square norm of each row.

#include <megakernels/tylo/fragment/convert.hpp>
#include <megakernels/tylo/fragment/memory.hpp>
#include <megakernels/tylo/fragment/reduce.hpp>
#include <megakernels/tylo/group.hpp>
#include <megakernels/tylo/lane/thread.hpp>
#include <megakernels/tylo/layout/tile.hpp>
#include <megakernels/tylo/numbers.hpp>

#include <cmath>

// [kernel]
constexpr int width = 256;

/// Who holds what: a warp holds a row, each lane 8 neighbours of it.
constexpr auto row_of_warp = tylo::striped<tylo::axis::columns>(1, 8);

/// Where it lies in memory: rows of 256, `pitch` elements from one to the next.
template <class T> TYLO_FN auto matrix(T* first, int rows, int pitch) {
  return tylo::tile_of<16>(first, tylo::row_major(rows, tylo::constant<width>{}, tylo::multiple_of<8>{pitch}));
}

/// y = x / sqrt(mean of x^2 + 1e-6), row by row: the warps of a CTA take rows by turns.
TYLO_FN inline void normalize(tylo::bf16 const* x, tylo::bf16* y, int rows, int pitch, unsigned warps) {
  using namespace tylo;
  auto const from = matrix(x, rows, pitch);
  auto const to = matrix(y, rows, pitch);
  this_warp const warp; // who takes part
  for (auto row = thread_rank() / warp_size; row < static_cast<unsigned>(rows); row += warps) {
    auto const in = window<1, width>(from, row, constant<0>{});
    auto const out = window<1, width>(to, row, constant<0>{});
    auto const values = convert<float>(load<row_of_warp>(warp, in, bf16(0.0f), whole_vectors{}));
    auto const mean = sum<axis::columns>(warp, values * values) / static_cast<float>(width);
    auto const scale = map([](float m) { return 1.0f / std::sqrt(m + 1e-6f); }, mean);
    store(warp, out, convert<bf16>(values * scale), whole_vectors{});
  }
}
// [/kernel]
