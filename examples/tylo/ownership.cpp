/// Modes, ownerships and the questions that can be put to them: what docs/tylo/ownership.md says, printed.

#include <megakernels/tylo/emulator/launch.hpp>
#include <megakernels/tylo/emulator/memory.hpp>
#include <megakernels/tylo/fragment/fragment.hpp>
#include <megakernels/tylo/fragment/memory.hpp>
#include <megakernels/tylo/layout/draw.hpp>
#include <megakernels/tylo/layout/reduction.hpp>
#include <megakernels/tylo/layout/spread.hpp>

#include "columns.hpp"

#include <cstdio>
#include <string>
#include <type_traits>

namespace {

using tylo::axis;
using tylo::coordinate;
using tylo::local;
using tylo::ownership;
using tylo::steps;
using tylo::striped;

// [mode]
// 32 indices as digits of 8 and 4, the first one fastest. Index 13 is 5 and 1.
constexpr tylo::mode thread = steps(8, {2, 0}).then(4, {0, 2});
static_assert(thread.size() == 32);
static_assert(thread(13) == 5 * coordinate{2, 0} + 1 * coordinate{0, 2});
// [/mode]

// [patches]
constexpr ownership patches{
    .shape = {16, 8}, .thread = steps(8, {2, 0}).then(4, {0, 2}), .slot = steps(2, {1, 0}).then(2, {0, 1})};
static_assert(patches(13, 2) == coordinate{10, 3}); // thread 13 is at (10, 2), slot 2 at (0, 1) from there
// [/patches]

// [mma]
// mma.m16n8k16 with factors of 16 bits: A is 16 x 16, B 16 x 8, the sums 16 x 8.
constexpr ownership mma_a{{16, 16}, steps(4, {0, 2}).then(8, {1, 0}), steps(2, {0, 1}).then(2, {8, 0}).then(2, {0, 8})};
constexpr ownership mma_b{{16, 8}, steps(4, {2, 0}).then(8, {0, 1}), steps(2, {1, 0}).then(2, {8, 0})};
constexpr ownership mma_c{{16, 8}, steps(4, {0, 2}).then(8, {1, 0}), steps(2, {0, 1}).then(2, {8, 0})};
// [/mma]

// [tiled]
// Each warp has two copies side by side; two warps lie one below another, two more to the right of them.
constexpr auto four_warps = tiled(mma_c, {.columns = 2}, {.rows = 2, .columns = 2});
static_assert(four_warps.shape == coordinate{32, 32} && four_warps.threads() == 128 && four_warps.slots() == 8);

// The sums of wgmma.m64n64: four warps one below another, eight copies for each.
constexpr auto wgmma_sums = tiled(mma_c, {.columns = 8}, {.rows = 4});
static_assert(wgmma_sums.shape == coordinate{64, 64} && wgmma_sums.slots() == 32);
// [/tiled]

// [coverage]
// Four lanes hold each row of a tile of 8 x 4.
constexpr ownership replicated{{8, 4}, steps(8, {1, 0}).then(4, {0, 0}), steps(4, {0, 1})};
static_assert(tylo::is_complete<replicated> && tylo::replicas<replicated> == 4);

// The right half of this tile has no owner.
constexpr ownership left_half{{16, 16}, mma_c.thread, mma_c.slot};
static_assert(tylo::is_in_bounds<left_half> && !tylo::is_complete<left_half>);
// [/coverage]

// [reduced]
constexpr auto row_sums = tylo::reduced<mma_c, axis::columns>;
static_assert(row_sums.shape == coordinate{16, 1} && row_sums.slots() == 2);
static_assert(tylo::replicas<row_sums> == 4);
static_assert(tylo::spreads_to<mma_c, row_sums>); // each thread has the results of its own rows
// [/reduced]

// [equal]
static_assert(local<axis::columns>(8, 128) == tiled(local<axis::columns>(4), {.columns = 2}, {.rows = 4}));
static_assert(std::is_same_v<tylo::fragment<float, wgmma_sums>,
                             tylo::fragment<float, tiled(tiled(mma_c, {.columns = 2}), {.columns = 4}, {.rows = 4})>>);
// [/equal]

// [exchanged]
static_assert(exchanged(local<axis::columns>(4)) == local<axis::rows>(4));
static_assert(exchanged(patches)(13, 2) == coordinate{3, 10});
// [/exchanged]

// [questions]
template <ownership O, axis Along> void tell(char const* what) {
  using enum tylo::reduction_verdict;
  constexpr auto plan = tylo::reduction_of<O, Along>;
  if constexpr (plan.verdict == possible)
    std::printf("%-28s within warps, shuffles over %2u\n", what, plan.distances);
  else if constexpr (plan.verdict == spans_warps)
    std::printf("%-28s across warps, shuffles over %2u\n", what, plan.distances);
  else if constexpr (plan.verdict == incomplete)
    std::printf("%-28s no: elements without an owner\n", what);
}

void questions() {
  tell<local<axis::columns>(8), axis::columns>("a row in each lane, columns");
  tell<local<axis::columns>(8), axis::rows>("a row in each lane, rows");
  tell<mma_c, axis::columns>("sums of mma, columns");
  tell<mma_c, axis::rows>("sums of mma, rows");
  tell<four_warps, axis::columns>("four warps of it, columns");
  tell<left_half, axis::columns>("half a tile, columns");
}
// [/questions]

void pictures() {
  // [picture]
  std::fputs(text_of(tylo::picture_of(striped<axis::columns>(2, 2, 4))).c_str(), stdout);
  // [/picture]
}

bool masks() {
  // [mask]
  tylo::emulator::array<int> const to(16 * 8);
  auto const kernel = [to = to.data()] {
    tylo::this_warp const warp;
    auto const columns = columns_of<mma_c>(warp);
    store(warp, tylo::tile_of<8>(to, tylo::row_major<16, 8>()), select(columns < 5, columns, -1));
  };
  tylo::emulator::launch({.threads = 32}, {}, kernel);
  // [/mask]
  bool right = true;
  for (int i = 0; i < 16 * 8; ++i) right = right && to[static_cast<std::size_t>(i)] == (i % 8 < 5 ? i % 8 : -1);
  std::printf("\nthe columns of all elements: %s\n", right ? "right" : "WRONG");
  return right;
}

} // namespace

int main() {
  pictures();
  std::puts("");
  questions();
  return masks() ? 0 : 1;
}
