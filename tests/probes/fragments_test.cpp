/// The kernels of tests/emulator/fragment_kernels.hpp on a GPU, against the same plain loops as there.

#include "../cuda/kit.hpp"
#include "../emulator/fragment_checks.hpp"
#include "fragment_runner.hpp"
#include "fragments.hpp"

namespace mk::test {
namespace {

class fragments : public gpu_test {};

TEST_F(fragments, elements_follow_scalar_expressions) { MK_CHECK_ALL(map_cases, check_map, on_gpu<map_cases>{}); }

TEST_F(fragments, axes_exchange_their_names) { MK_CHECK_ALL(exchange_cases, check_exchange, on_gpu<exchange_cases>{}); }

TEST_F(fragments, softmax_of_whole_lines) {
  on_gpu<worked_cases> const runner;
  check_softmax_by_lanes(runner);
  check_softmax_by_warps(runner);
  check_softmax_epilogue(runner);
}

TEST_F(fragments, reductions_within_warps) {
  MK_CHECK_ALL(warp_reductions, check_reduction, on_gpu<warp_reductions>{});
  MK_CHECK_ALL(typed_reductions, check_reduction, on_gpu<typed_reductions>{});
}

TEST_F(fragments, reductions_across_warps) { MK_CHECK_ALL(cta_reductions, check_reduction, on_gpu<cta_reductions>{}); }

TEST_F(fragments, extremes_know_nan_and_the_signs_of_zero) {
  MK_CHECK_ALL(warp_reductions, check_special_values, on_gpu<warp_reductions>{});
  MK_CHECK_ALL(typed_reductions, check_special_values, on_gpu<typed_reductions>{});
  MK_CHECK_ALL(cta_reductions, check_special_values, on_gpu<cta_reductions>{});
}

TEST_F(fragments, replicas_have_the_same_bits) {
  MK_CHECK_ALL(warp_reductions, check_rounded_sums, on_gpu<warp_reductions>{});
  MK_CHECK_ALL(typed_reductions, check_rounded_sums, on_gpu<typed_reductions>{});
  MK_CHECK_ALL(cta_reductions, check_rounded_sums, on_gpu<cta_reductions>{});
}

TEST_F(fragments, online_softmax) {
  MK_CHECK_ALL(softmax_cases, check_softmax, on_gpu<softmax_cases>{});
  MK_CHECK_ALL(softmax_cases, check_extreme_scores, on_gpu<softmax_cases>{});
  MK_CHECK_ALL(merge_cases, check_merge, on_gpu<merge_cases>{});
}

} // namespace
} // namespace mk::test
