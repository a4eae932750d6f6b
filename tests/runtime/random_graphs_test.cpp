/// Random graphs on the host device, against the same graphs run node by node.

#include "../scheduler/node_by_node.hpp"
#include "graph_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace mk::test {
namespace {

constexpr std::uint64_t graphs = kit::sanitized ? 200 : 2000;

/// One random graph, compiled for a random number of workers, in a session of its own.
class trial {
public:
  explicit trial(std::uint64_t seed)
      : r_(seed), made_(seed), expected_(made_.get(), made_.leaves), session_(host_device{}, full_operations),
        program_(session_.load(compile(made_.get(), some_machine(), full_operations))) {
    set_leaves(session_, made_, [](tensor_view const& state, std::vector<std::byte> const& bytes) {
      std::ranges::copy(bytes, state.data);
    });
  }

  /// Lengths, values and inputs are new each time; the workspace holds what the time before left there.
  void submit_and_compare() {
    run_outputs results;
    session_.submit(program_, step_of(made_, results)).wait();
    expected_.run(made_.leaves, made_.live);
    for (auto const& [name, bytes] : results) EXPECT_EQ(bytes, expected_.bytes(name)) << name;
    for (auto const& v : made_.get().values()) {
      if (v.kind != value_kind::state) continue;
      auto const& bytes = expected_.bytes(v.labels.name);
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), session_.state(v.labels.name).data)) << v.labels.name;
    }
    made_.draw_again();
  }

private:
  machine some_machine() {
    return {.workers = r_.pick(std::vector<std::int64_t>{1, 2, 3, 7, 64}),
            .bytes_per_second = r_.chance(70) ? 1 : 1e9,
            .operations_per_second = 1e9,
            .task_seconds = 1e-9};
  }

  kit::random r_;
  kit::random_graph made_;
  kit::node_by_node expected_;
  session session_;
  program_id program_;
};

TEST(random_graphs, equal_the_graph_run_node_by_node) {
  for (std::uint64_t seed = 0; seed < graphs && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    trial t(seed);
    for (int submission = 0; submission < 2; ++submission) t.submit_and_compare();
  }
}

} // namespace
} // namespace mk::test
