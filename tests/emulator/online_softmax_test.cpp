/// Softmax over lines that come piece by piece, beside one in doubles.

#include "fragment_runner.hpp"

namespace mk::test {
namespace {

constexpr on_emulator runner;

TEST(emulator_online_softmax, of_ragged_pieces) { MK_CHECK_ALL(softmax_cases, check_softmax, runner); }

TEST(emulator_online_softmax, of_scores_far_apart) { MK_CHECK_ALL(softmax_cases, check_extreme_scores, runner); }

TEST(emulator_online_softmax, states_are_merged) { MK_CHECK_ALL(merge_cases, check_merge, runner); }

} // namespace
} // namespace mk::test
