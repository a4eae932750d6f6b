/// Reductions of fragments along axes that span the warps of a group.

#include "fragment_runner.hpp"

namespace mk::test {
namespace {

constexpr on_emulator runner;

TEST(emulator_cta_reductions, across_warps) { MK_CHECK_ALL(cta_reductions, check_reduction, runner); }

TEST(emulator_cta_reductions, extremes_know_nan_and_the_signs_of_zero) {
  MK_CHECK_ALL(cta_reductions, check_special_values, runner);
}

TEST(emulator_cta_reductions, replicas_have_the_same_bits) { MK_CHECK_ALL(cta_reductions, check_rounded_sums, runner); }

/// Without its barriers scratch is read before it is written, or written before it was read.
TEST(emulator_cta_reductions, barriers_are_needed) {
  constexpr auto kernel = [] {
    auto const x = tylo::filled<shapes::c_1x4>(1.0f);
    auto* const scratch = reinterpret_cast<float*>(shared_memory());
    (void)tylo::reduce_across_warps<axis::columns>(whole_cta<128>{}, x, tylo::add_values{}, scratch);
  };
  constexpr auto bytes = sizeof(float) * tylo::scratch_elements<shapes::c_1x4, axis::columns>;
  grid const g{.threads = 128, .shared_bytes = bytes};
  auto const found = launch(g, {.list_sites = true}, kernel);
  ASSERT_EQ(found.sites.size(), 1u) << "both are at the place of the call";
  EXPECT_EQ(found.sites[0].times, 2 * 128u);
  options without;
  without.deleted_site = {"cta_reductions_test.cpp", found.sites[0].line};
  EXPECT_THROW(launch(g, without, kernel), fault);
}

} // namespace
} // namespace mk::test
