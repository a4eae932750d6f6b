#pragma once

/// The kernels of docs/tylo/reductions.md.

#include <megakernels/tylo/fragment/memory.hpp>
#include <megakernels/tylo/fragment/reduce.hpp>
#include <megakernels/tylo/lane/copy.hpp>

#include <bit>
#include <cmath>
#include <cstdint>

namespace examples::reductions {

using namespace tylo;

// [rows]
constexpr auto row_of_warp = striped<axis::columns>(4, 4); // 1 x 512: four vectors of 4 a lane

/// y = x / sqrt(mean of x^2 + epsilon), row by row. x and y are [rows, columns] in fp32, up to 512 columns, a multiple
/// of 4. Each warp of the grid takes one row.
TYLO_FN inline void norm_of_rows(float const* x, float* y, int rows, int columns, float epsilon,
                                 unsigned warps_of_cta) {
  auto const row = cta_rank() * warps_of_cta + thread_rank() / warp_size;
  auto const shape = row_major(rows, multiple_of<4>{columns});
  auto const v = load<row_of_warp>(this_warp{}, window<1, 512>(tile_of<16>(x, shape), row, constant<0>{}), 0.0f);
  auto const squares = sum<axis::columns>(this_warp{}, v * v); // elements past the row's end are 0
  auto const factor =
      map([=](float s) { return 1.0f / std::sqrt(s / static_cast<float>(columns) + epsilon); }, squares);
  store(this_warp{}, window<1, 512>(tile_of<16>(y, shape), row, constant<0>{}), v * factor);
}
// [/rows]

// [across]
constexpr auto row_of_two = striped<axis::columns>(2, 4, 64); // 1 x 512 by 64 threads
constexpr unsigned two_scratch = scratch_elements<row_of_two, axis::columns>;

/// The sums of two rows of 512. A CTA of four warps: warps 0 and 1 take row 0, warps 2 and 3 take row 1, with named
/// barriers 2 and 3. `2 * two_scratch` floats of shared memory.
TYLO_FN inline void sums_of_two_rows(float const* x, float* sums) {
  auto const half = warpgroup{0, 1}.part<2>(2);
  auto const row = thread_rank() / half.threads;
  auto* const scratch = reinterpret_cast<float*>(shared_memory()) + row * two_scratch;
  auto const v = load<row_of_two>(half, window<1, 512>(tile_of<16>(x, row_major<2, 512>()), row, constant<0>{}), 0.0f);
  auto const all = reduce_across_warps<axis::columns>(half, v, add_values{}, scratch);
  store(half, window<1, 1>(tile_of(sums, row_major<2, 1>()), row, constant<0>{}), all);
}
// [/across]

// [argmax]
/// Larger for a larger number, and for the lower of two columns with equal bits; -0 is below +0. Not for NaN.
TYLO_FN inline std::uint64_t rank_of(float value, int column) {
  auto const bits = std::bit_cast<std::uint32_t>(value);
  auto const order = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return std::uint64_t{order} << 32 | ~static_cast<std::uint32_t>(column);
}

/// The column of the largest element of each row.
template <axis Along, group G, ownership O> TYLO_FN auto places_of_largest(G g, fragment<float, O> const& x) {
  fragment<std::uint64_t, O> ranked;
  TYLO_UNROLL for (int s = 0; s < x.slots; ++s) ranked.data[s] =
      rank_of(x.data[s], O(g.rank(), static_cast<unsigned>(s)).along(Along));
  return map([](std::uint64_t r) { return static_cast<int>(~static_cast<std::uint32_t>(r)); }, max<Along>(g, ranked));
}
// [/argmax]

template <ownership O> TYLO_FN void write_places(float const* x, int* places) {
  auto const v = load<O>(this_warp{}, tile_of<16>(x, row_major<O.shape.row, O.shape.column>()), 0.0f);
  store(this_warp{}, tile_of(places, row_major<O.shape.row, 1>()), places_of_largest<axis::columns>(this_warp{}, v));
}

template <ownership O> TYLO_FN void write_sums(float const* x, float* sums) {
  auto const v = load<O>(this_warp{}, tile_of<16>(x, row_major<O.shape.row, O.shape.column>()), 0.0f);
  store(this_warp{}, tile_of(sums, row_major<O.shape.row, 1>()), sum<axis::columns>(this_warp{}, v));
}

} // namespace examples::reductions
