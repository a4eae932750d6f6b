#pragma once

/// Ownerships that tests use, each with its name.

#include <megakernels/tylo/layout/ownership.hpp>

namespace mk::test::shapes {

using tylo::axis;
using tylo::coordinate;
using tylo::exchanged;
using tylo::ownership;
using tylo::steps;
using tylo::tiled;

// One warp.
inline constexpr auto one_each = tylo::local<axis::columns>(1);
inline constexpr auto local_rows = tylo::local<axis::columns>(8);
inline constexpr auto local_columns = tylo::local<axis::rows>(5);
inline constexpr auto striped_singles = tylo::striped<axis::columns>(1);
inline constexpr auto striped_row = tylo::striped<axis::columns>(3, 4);
inline constexpr auto striped_column = tylo::striped<axis::rows>(3, 2);
/// Factors and sums of mma m16n8k16.
inline constexpr ownership mma_a{
    {16, 16}, steps(4, {0, 2}).then(8, {1, 0}), steps(2, {0, 1}).then(2, {8, 0}).then(2, {0, 8})};
inline constexpr ownership mma_b{{16, 8}, steps(4, {2, 0}).then(8, {0, 1}), steps(2, {1, 0}).then(2, {8, 0})};
inline constexpr ownership mma_c{{16, 8}, steps(4, {0, 2}).then(8, {1, 0}), steps(2, {0, 1}).then(2, {8, 0})};
inline constexpr auto wide_c = tiled(mma_c, {2, 4});
inline constexpr ownership patches{{16, 8}, steps(8, {2, 0}).then(4, {0, 2}), steps(2, {1, 0}).then(2, {0, 1})};
inline constexpr auto turned_patches = exchanged(patches);
/// Eight rows, each held by four lanes.
inline constexpr ownership replicated_rows{{8, 4}, steps(8, {1, 0}).then(4, {0, 0}), steps(4, {0, 1})};
/// Replicas are neighbours, and lanes 2 and 16 apart join.
inline constexpr ownership mixed_lanes{
    {4, 8}, steps(2, {0, 0}).then(2, {0, 2}).then(4, {1, 0}).then(2, {0, 4}), steps(2, {0, 1})};
/// Neighbouring threads have rows in common.
inline constexpr ownership overlapping{{33, 3}, steps(32, {1, 0}), steps(2, {1, 0}).then(3, {0, 1})};

// Several warps.
inline constexpr auto many_rows = tylo::local<axis::columns>(3, 128);
inline constexpr auto long_row = tylo::striped<axis::columns>(2, 4, 128);
inline constexpr auto c_4x1 = tiled(mma_c, {}, {4, 1});
/// The sums of wgmma m64n64 and m64n256.
inline constexpr auto wgmma_64 = tiled(mma_c, {1, 8}, {4, 1});
inline constexpr auto wgmma_256 = tiled(mma_c, {1, 32}, {4, 1});
inline constexpr auto c_2x2 = tiled(mma_c, {2, 2}, {2, 2});
inline constexpr auto c_1x4 = tiled(mma_c, {1, 2}, {1, 4});
inline constexpr auto c_4x2 = tiled(mma_c, {1, 3}, {4, 2});
inline constexpr auto c_3x1 = tiled(mma_c, {1, 2}, {3, 1});
inline constexpr auto c_1x3 = tiled(mma_c, {2, 1}, {1, 3});
inline constexpr ownership equal_warps{{16, 8}, mma_c.thread.then(2, {0, 0}), mma_c.slot};
/// Two warps side by side, and two more with the same.
inline constexpr ownership equal_pairs{{16, 16}, mma_c.thread.then(2, {0, 8}).then(2, {0, 0}), mma_c.slot};
inline constexpr ownership pairs_of_equals{{16, 16}, mma_c.thread.then(2, {0, 0}).then(2, {0, 8}), mma_c.slot};

// What has no warps, or is broken.
inline constexpr auto half_a_warp = tylo::local<axis::columns>(4, 16);
inline constexpr auto one_and_a_half_warps = tylo::local<axis::columns>(2, 48);
inline constexpr ownership half_the_columns{{16, 16}, mma_c.thread, mma_c.slot};
inline constexpr ownership half_the_rows{{64, 8}, local_rows.thread, local_rows.slot};
inline constexpr ownership every_other_warp{{32, 32}, steps(32, {1, 0}).then(2, {0, 16}), steps(8, {0, 1})};
inline constexpr ownership slots_twice{{32, 4}, steps(32, {1, 0}), steps(2, {0, 0}).then(4, {0, 1})};
inline constexpr ownership lanes_overlap{{1, 33}, steps(32, {0, 1}), steps(2, {0, 1})};
inline constexpr ownership warps_overlap{{32, 12}, steps(32, {1, 0}).then(2, {0, 4}), steps(8, {0, 1})};
inline constexpr ownership diagonal{{34, 3}, steps(32, {1, 0}), steps(3, {1, 1})};
inline constexpr ownership lanes_in_threes{{32, 3}, steps(3, {0, 1}).then(32, {1, 0}), steps(1, {})};
inline constexpr ownership outside{{32, 8}, steps(32, {1, 0}).then(2, {0, 8}), steps(8, {0, 1})};
inline constexpr ownership before_the_first{{32, 8}, steps(32, {1, 0}), steps(8, {0, -1})};

} // namespace mk::test::shapes
