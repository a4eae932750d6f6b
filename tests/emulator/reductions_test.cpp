/// Reductions of fragments: sums, extremes and joins of the user's, within warps and across.

#include "fragment_runner.hpp"

namespace mk::test {
namespace {

constexpr on_emulator runner;

TEST(emulator_reductions, within_warps) { MK_CHECK_ALL(warp_reductions, check_reduction, runner); }

TEST(emulator_reductions, of_other_types) { MK_CHECK_ALL(typed_reductions, check_reduction, runner); }

TEST(emulator_reductions, extremes_know_nan_and_the_signs_of_zero) {
  MK_CHECK_ALL(warp_reductions, check_special_values, runner);
  MK_CHECK_ALL(typed_reductions, check_special_values, runner);
}

TEST(emulator_reductions, replicas_have_the_same_bits) {
  MK_CHECK_ALL(warp_reductions, check_rounded_sums, runner);
  MK_CHECK_ALL(typed_reductions, check_rounded_sums, runner);
}

TEST(emulator_reductions, a_lane_does_not_take_part) {
  constexpr auto kernel = [] {
    auto const x = tylo::filled<shapes::mma_c>(1.0f);
    if (lane_rank() != 5) (void)tylo::sum<axis::columns>(this_warp{}, x);
  };
  expect_fault(fault_kind::divergence, {"reductions_test.cpp", "shuffle"}, {}, kernel);
}

} // namespace
} // namespace mk::test
