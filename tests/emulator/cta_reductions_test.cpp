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

/// Without the first barrier scratch is read before it is written, without the second written before it was read.
TEST(emulator_cta_reductions, both_barriers_are_needed) {
  constexpr auto kernel = [] {
    auto const x = tylo::filled<shapes::c_1x4>(1.0f);
    auto* const scratch = reinterpret_cast<float*>(shared_memory());
    for (int i = 0; i < 2; ++i)
      (void)tylo::reduce_across_warps<axis::columns>(whole_cta<128>{}, x, tylo::add_values{}, scratch);
  };
  constexpr auto bytes = sizeof(float) * tylo::scratch_elements<shapes::c_1x4, axis::columns>;
  grid const g{.threads = 128, .shared_bytes = bytes};
  auto const found = launch(g, {.list_sites = true}, kernel);
  ASSERT_EQ(found.sites.size(), 2u);
  for (auto const& s : found.sites) {
    EXPECT_EQ(s.line, found.sites[0].line) << "both are at the place of the call";
    EXPECT_EQ(s.times, 2 * 128u);
    options without;
    without.deleted_site = {"cta_reductions_test.cpp", s.line, s.step};
    EXPECT_THROW(launch(g, without, kernel), fault) << "step " << s.step;
  }
}

} // namespace
} // namespace mk::test
