/// Random graphs on the GPU. Every node is compared with the host's reference on the very inputs that the GPU gave it;
/// then the same graph with memory that is used again, for any number of workers, must give the same bits.

#include <megakernels/kernels/full.hpp>

#include "../runtime/graph_runs.hpp"
#include "../runtime/node_check.hpp"
#include "kit.hpp"

#include <cstdlib>

namespace mk::test {
namespace {

std::uint64_t graphs_wanted() {
  auto const* const count = std::getenv("MK_RANDOM_GRAPHS");
  return count != nullptr ? std::strtoull(count, nullptr, 10) : 1000;
}

class cuda_random_graphs : public gpu_test {
protected:
  static run_outputs run(session& s, kit::random_graph& of, std::int64_t workers) {
    return test::run(s, of, workers, [](tensor_view const& state, std::vector<std::byte> const& bytes) {
      EXPECT_EQ(cudaMemcpy(state.data, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), cudaSuccess);
    });
  }

  static session open() {
    return session(
        cuda_device{.kernel = &kernels::full(),
                    .mode = run_mode::launch, // states are written by plain copies, which a kernel would block
                    .reserved_bytes = std::uint64_t(16) << 20},
        full_operations);
  }
};

TEST_F(cuda_random_graphs, agree_with_the_host_node_by_node_for_any_number_of_workers) {
  node_statistics statistics;
  for (std::uint64_t seed = 0; seed < graphs_wanted() && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    kit::random_graph all(seed, kit::shown::all);
    auto s = open();
    auto const seen = run(s, all, 1 + static_cast<std::int64_t>(seed % multiprocessors()));
    check_nodes(all.get(), all.leaves, all.live, seen, statistics);

    kit::random_graph some(seed);
    run_outputs first;
    for (std::int64_t workers : {1u, 2u, 3u, 7u, multiprocessors()}) {
      auto again = open();
      auto const results = run(again, some, workers);
      if (first.empty()) first = results;
      EXPECT_EQ(results, first) << workers << " workers";
    }
    for (auto const& [name, bytes] : first) {
      if (name != "last") continue; // the others have different names where all are shown
      EXPECT_EQ(bytes, seen.at(name)) << "memory that is used again changed " << name;
    }
  }
  statistics.print();
}

} // namespace
} // namespace mk::test
