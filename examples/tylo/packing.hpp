#pragma once

/// The kernels of docs/tylo/packing.md.

#include <megakernels/tylo/fragment/memory.hpp>
#include <megakernels/tylo/fragment/pack.hpp>
#include <megakernels/tylo/fragment/reduce.hpp>
#include <megakernels/tylo/lane/mma.hpp>

#include <cmath>
#include <cstdint>

namespace examples::packing {

using namespace tylo;

// [quantize]
constexpr auto codes_of_warp = striped<axis::columns>(1, 16); // 1 x 512: 16 codes, 16 bytes, a lane

/// Rows of 512 as codes of e4m3 and a scale for each row: x = scale * code, within the rounding of the code.
/// x is [rows, 512], codes are [rows, 512], scales are [rows]. A warp for each row.
TYLO_FN inline void quantize(float const* x, e4m3* codes, float* scales, int rows) {
  this_warp const warp;
  auto const row = cta_rank();
  auto const all = row_major(rows, constant<512>{});
  auto const v = load<codes_of_warp>(warp, window<1, 512>(tile_of<16>(x, all), row, constant<0>{}), 0.0f);
  auto const most = max<axis::columns>(warp, map([](float a) { return std::abs(a); }, v));
  auto const scale = select(most > 0x1p-100f, most / 448.0f, 1.0f); // 448 is the largest of e4m3
  store(warp, window<1, 512>(tile_of<16>(codes, all), row, constant<0>{}), convert<e4m3>(v / scale));
  store(warp, window<1, 1>(tile_of(scales, row_major(rows, constant<1>{})), row, constant<0>{}), scale);
}
// [/quantize]

// [operands]
// Factors and sums of mma m16n8k16.
constexpr ownership mma_a{{16, 16}, steps(4, {0, 2}).then(8, {1, 0}), steps(2, {0, 1}).then(2, {8, 0}).then(2, {0, 8})};
constexpr ownership mma_b{{16, 8}, steps(4, {2, 0}).then(8, {0, 1}), steps(2, {1, 0}).then(2, {8, 0})};
constexpr ownership mma_c{{16, 8}, steps(4, {0, 2}).then(8, {1, 0}), steps(2, {0, 1}).then(2, {8, 0})};
static_assert(tiled(mma_c, {1, 2}) == mma_a); // two tiles of sums lie as one left factor
// [/operands]

// [product]
/// y = bf16(scale * x w) u with x [16, 16], w [16, 16] and u [16, 8] in bf16, y [16, 8] in fp32. By one warp.
TYLO_FN inline void two_products(bf16 const* x, bf16 const* w, bf16 const* u, float* y, float scale) {
  this_warp const warp;
  auto const weights = tile_of<16>(w, row_major<16, 16>());
  auto const left = pack(load<mma_a>(warp, tile_of<16>(x, row_major<16, 16>()), bf16(0.0f)));
  fragment<float, mma_a> inner; // two tiles of sums
  TYLO_UNROLL for (int half = 0; half < 2; ++half) {
    auto const column = multiple_of<8>{8 * half};
    auto const right = pack(load<mma_b>(warp, window<16, 8>(weights, constant<0>{}, column), bf16(0.0f)));
    auto sums = filled<mma_c>(0.0f);
    mma<bf16>(sums.data, left.data, right.data);
    TYLO_UNROLL for (int s = 0; s < sums.slots; ++s) inner.data[half * sums.slots + s] = sums.data[s];
  }
  auto const factor = pack<bf16>(inner * scale); // rounded once, and where the next product wants it
  auto const last = pack(load<mma_b>(warp, tile_of<16>(u, row_major<16, 8>()), bf16(0.0f)));
  auto result = filled<mma_c>(0.0f);
  mma<bf16>(result.data, factor.data, last.data);
  store(warp, tile_of<16>(y, row_major<16, 8>()), result);
}
// [/product]

} // namespace examples::packing
