#pragma once

/// The kernels of docs/tylo/fragments.md.

#include <megakernels/tylo/fragment/memory.hpp>
#include <megakernels/tylo/fragment/reduce.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/math.hpp>

namespace examples::fragments {

using namespace tylo;

// [patches]
/// 16 x 8: lane i has the 2 x 2 patch whose first element is (2 * (i % 8), 2 * (i / 8)).
constexpr ownership patches{{16, 8}, steps(8, {2, 0}).then(4, {0, 2}), steps(2, {1, 0}).then(2, {0, 1})};
// [/patches]

// [relu]
constexpr auto piece = striped<axis::columns>(2, 8); // 1 x 512: each lane has twice 8 neighbours

/// y = max(scale * x, 0) of a row of bf16, 512 elements at a time. A warp for each row; columns are a multiple of 8.
TYLO_FN inline void scaled_relu(bf16 const* x, bf16* y, int rows, int columns, float scale) {
  auto const shape = row_major(rows, multiple_of<8>{columns});
  auto const from = tile_of<16>(x, shape);
  auto const to = tile_of<16>(y, shape);
  auto const row = cta_rank();
  for (int first = 0; first < columns; first += piece.shape.column) {
    auto const column = multiple_of<512>{first};
    auto const v = convert<float>(load<piece>(this_warp{}, window<1, 512>(from, row, column), bf16(0.0f))) * scale;
    store(this_warp{}, window<1, 512>(to, row, column), convert<bf16>(select(v > 0.0f, v, 0.0f)));
  }
}
// [/relu]

// [functions]
/// The nearest number of 0 to 1; of NaN, 0. PTX: cvt.sat.f32.f32.
TYLO_FN inline float saturate(float x) {
  TYLO_EITHER(return __saturatef(x), return x > 0.0f ? smaller_of(x, 1.0f) : 0.0f);
}

struct affine_relu {
  float a, b;
  TYLO_FN float operator()(float x) const { return larger_of(fused_multiply_add(x, a, b), 0.0f); }
};

template <ownership O>
TYLO_FN fragment<float, O> gates(fragment<float, O> const& x, fragment<float, O> const& y, float slope) {
  auto const a = map(affine_relu{2.0f, 1.0f}, x);
  auto const b = map([slope](float v, float w) { return w < 0.0f ? slope * v : v; }, a, y);
  return map([](float v) { return saturate(v); }, b);
}
// [/functions]

// [broadcast]
constexpr ownership mma_c{{16, 8}, steps(4, {0, 2}).then(8, {1, 0}), steps(2, {0, 1}).then(2, {8, 0})};
constexpr auto tile_c = tiled(mma_c, {1, 8}); // 16 x 64 by one warp

/// y = x - mean of its row + bias of its column. x and y are [16, 64], bias is [64].
template <ownership O> TYLO_FN void centre_rows(float const* x, float const* bias, float* y) {
  this_warp const warp;
  auto const v = load<O>(warp, tile_of<16>(x, row_major<16, 64>()), 0.0f);
  auto const mean = sum<axis::columns>(warp, v) * (1.0f / 64);                                    // 16 x 1
  auto const b = load<reduced<O, axis::rows>>(warp, tile_of<16>(bias, row_major<1, 64>()), 0.0f); // 1 x 64
  store(warp, tile_of<16>(y, row_major<16, 64>()), v - mean + b);
}
// [/broadcast]

// [exchange]
static_assert(exchanged(local<axis::columns>(3)) == local<axis::rows>(3));
static_assert(reduced<exchanged(patches), axis::rows> == exchanged(reduced<patches, axis::columns>));
// [/exchange]

// [hand_over]
constexpr auto column_a_lane = local<axis::rows>(32); // 32 x 32: lane i has column i
constexpr auto row_a_lane = local<axis::columns>(32); // 32 x 32: lane i has row i

/// y[i, j] = x[i, 0] + ... + x[i, j], added in this order. x and y are [32, 32]; 4,096 bytes of shared memory.
TYLO_FN inline void running_sums(float const* x, float* y) {
  this_warp const warp;
  auto const shared = tile_of<16>(reinterpret_cast<float*>(shared_memory()),
                                  swizzled<hardware_swizzle(128, sizeof(float))>(row_major<32, 32>()));
  store(warp, shared, load<column_a_lane>(warp, tile_of<16>(x, row_major<32, 32>()), 0.0f));
  warp.sync();
  auto rows = load<row_a_lane>(warp, shared, 0.0f);
  TYLO_UNROLL for (int s = 1; s < rows.slots; ++s) rows.data[s] += rows.data[s - 1]; // neighbours of one row
  store(warp, shared, rows); // each lane overwrites what it alone has read
  warp.sync();
  store(warp, tile_of<16>(y, row_major<32, 32>()), load<column_a_lane>(warp, shared, 0.0f));
}
// [/hand_over]

} // namespace examples::fragments
