/// Random graphs on an emulated GPU, under race detection. Every node is compared with the host's reference on the very
/// inputs that it had; and the bits are the same for any number of workers and any schedule.

#include <megakernels/kernels/full.hpp>

#include "../runtime/graph_runs.hpp"
#include "../runtime/node_check.hpp"
#include "environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace mk::test {
namespace {

run_outputs run_emulated(kit::random_graph& of, std::int64_t workers, std::uint64_t seed) {
  emulator_device d{.kernel = &kernels::full(), .workers = static_cast<std::uint32_t>(workers)};
  d.how.seed = seed;
  d.how.batched = true;
  session s(d, full_operations);
  return run(s, of, workers, [](tensor_view const& state, std::vector<std::byte> const& bytes) {
    std::memcpy(state.data, bytes.data(), bytes.size());
  });
}

/// Parts of the graphs are tests of their own: several run at the same time, and none runs for long.
constexpr std::uint64_t parts = 100;
class emulator_random_graphs : public testing::TestWithParam<std::uint64_t> {};

TEST_P(emulator_random_graphs, agree_with_the_host_node_by_node) {
  // Each commit has graphs of its own: MK_SEED is made of its hash.
  auto const first = number_from("MK_SEED", 1);
  auto const count = number_from("MK_RANDOM_GRAPHS", std::getenv("MK_LONG") != nullptr ? 10000 : 300);
  if (GetParam() >= count) GTEST_SKIP() << "there are only " << count << " graphs";
  node_statistics statistics;
  for (auto i = GetParam(); i < count && !testing::Test::HasFailure(); i += parts) {
    auto const seed = first + i;
    SCOPED_TRACE("repeat with: MK_RANDOM_GRAPHS=1 MK_SEED=" + std::to_string(seed) +
                 " ./mk test -R 'emulator_random_graphs.*/0$'");
    kit::random_graph all(seed, kit::shown::all);
    auto const seen = run_emulated(all, 2, seed);
    check_nodes(all.get(), all.leaves, all.live, seen, statistics);
    kit::random_graph some(seed);
    run_outputs known;
    for (std::int64_t const workers : {1, 2, 3, 30}) {
      auto const results = run_emulated(some, workers, seed + static_cast<std::uint64_t>(workers));
      if (known.empty()) known = results;
      EXPECT_EQ(results, known) << workers << " workers";
    }
  }
  statistics.print();
}

INSTANTIATE_TEST_SUITE_P(part, emulator_random_graphs, testing::Range(std::uint64_t(0), parts));

} // namespace
} // namespace mk::test
