/// Random programs of the lane functions, in which whatever needs an order has one: the emulator finds nothing wrong
/// with them in any schedule, and their results are those of a plain interpreter. Without one wait, arrival, fence,
/// barrier or commit that is known to be needed they are found out.

#include "environment.hpp"
#include "kit.hpp"
#include "random_lanes/run.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

namespace mk::test::random_lanes {
namespace {

void expect_right(random_run& r, options const& how) {
  try {
    EXPECT_TRUE(r.is_right(how)) << "other results with seed " << how.seed;
  } catch (fault const& f) {
    ADD_FAILURE() << f.what();
  }
}

bool is_noticed(random_run& r) {
  for (unsigned way = 0; way < 24; ++way) {
    try {
      if (!r.is_right(r.any_options(way))) return true;
    } catch (fault const&) {
      return true;
    }
  }
  return false;
}

/// Calls `check` with the seed of each program.
template <class Check> void for_programs(std::uint64_t count, Check check) {
  // Each commit has programs of its own: MK_SEED is made of its hash.
  auto const first = number_from("MK_SEED", 1);
  count = number_from("MK_RANDOM_LANES", std::getenv("MK_LONG") != nullptr ? 20 * count : count);
  for (std::uint64_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("repeat with: MK_RANDOM_LANES=1 MK_SEED=" + std::to_string(first + i) +
                 " ./mk test -R emulator_random_lanes");
    check(first + i);
  }
}

TEST(emulator_random_lanes, right_programs_give_no_report) {
  std::size_t steps = 0;
  for_programs(200, [&](std::uint64_t seed) {
    random_run r(seed);
    steps += r.steps();
    for (unsigned way = 0; way < 3; ++way) expect_right(r, r.any_options(way));
  });
  std::printf("%zu steps\n", steps);
}

TEST(emulator_random_lanes, what_is_needed_cannot_be_left_out) {
  std::size_t count = 0;
  std::set<act> kinds;
  for_programs(200, [&](std::uint64_t seed) {
    random_run r(seed);
    auto const out = r.leave_one_out();
    if (!out) return;
    EXPECT_TRUE(is_noticed(r)) << "left out: act " << static_cast<int>(out->s.what) << " of block "
                               << static_cast<int>(out->s.block);
    ++count;
    kinds.insert(out->s.what);
  });
  std::printf("%zu programs without a step, of %zu kinds\n", count, kinds.size());
}

} // namespace
} // namespace mk::test::random_lanes
