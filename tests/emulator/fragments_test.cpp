/// Fragments: what is done with each element, and kernels of whole softmaxes.

#include "fragment_runner.hpp"

namespace mk::test {
namespace {

constexpr on_emulator runner;

TEST(emulator_fragments, elements_follow_scalar_expressions) { MK_CHECK_ALL(map_cases, check_map, runner); }

TEST(emulator_fragments, axes_exchange_their_names) { MK_CHECK_ALL(exchange_cases, check_exchange, runner); }

TEST(emulator_fragments, softmax_of_rows_by_lanes) { check_softmax_by_lanes(runner); }

TEST(emulator_fragments, softmax_of_rows_by_warps) { check_softmax_by_warps(runner); }

TEST(emulator_fragments, softmax_of_the_sums_of_a_product) { check_softmax_epilogue(runner); }

} // namespace
} // namespace mk::test
