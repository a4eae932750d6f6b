/// Random graphs on the GPU. Every node is compared with the host's reference on the very inputs that the GPU gave it;
/// then the same graph with memory that is used again, for any number of workers, must give the same bits.

#include <megakernels/kernels/full.hpp>

#include "../scheduler/random_graph.hpp"
#include "kit.hpp"
#include "node_check.hpp"

#include <cstdlib>

namespace mk::test {
namespace {

using outputs = std::map<std::string, std::vector<std::byte>>;

std::uint64_t graphs_wanted() {
  auto const* const count = std::getenv("MK_RANDOM_GRAPHS");
  return count != nullptr ? std::strtoull(count, nullptr, 10) : 1000;
}

class cuda_random_graphs : public gpu_test {
protected:
  static std::shared_ptr<tensor const> constant(tensor_desc const& desc, std::vector<std::byte> const& bytes) {
    std::vector<std::int64_t> extents;
    for (std::size_t i = 0; i < static_cast<std::size_t>(desc.rank); ++i) extents.push_back(desc.extents[i].capacity);
    auto made = std::make_shared<tensor>(desc.type, extents);
    std::copy(bytes.begin(), bytes.end(), made->data());
    return made;
  }

  /// Lengths, values, inputs, and outputs that start as bytes FF.
  static step step_of(kit::random_graph& of, outputs& results) {
    step s;
    for (std::size_t i = 0; i < of.live.size(); ++i) s.live(of.get().live_axes()[i].name, of.live[i]);
    for (auto const& v : of.get().values()) {
      auto const view = [&](std::vector<std::byte>& bytes) { return view_of(v.desc, bytes.data(), of.live.data()); };
      if (v.kind == value_kind::step) s.values(v.labels.name, view(of.leaves.at(v.labels.name)));
      if (v.kind == value_kind::input) s.bind(v.labels.name, view(of.leaves.at(v.labels.name)));
      if (v.output.empty()) continue;
      auto& bytes = results[v.output];
      bytes.assign(span_bytes(v.desc), std::byte{0xFF});
      s.bind(v.output, view(bytes));
    }
    return s;
  }

  /// One submission of the graph in a session that has its programs and states anew.
  static outputs run(session& s, kit::random_graph& of, std::int64_t workers) {
    auto const p = s.load(compile(
        of.get(), {.workers = workers, .bytes_per_second = 1, .operations_per_second = 1e9, .task_seconds = 1e-9},
        full_operations));
    for (auto const& v : of.get().values()) {
      if (v.kind == value_kind::constant) s.set_constant(v.labels.name, constant(v.desc, of.leaves.at(v.labels.name)));
      if (v.kind != value_kind::state) continue;
      auto const& bytes = of.leaves.at(v.labels.name);
      EXPECT_EQ(cudaMemcpy(s.state(v.labels.name).data, bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
                cudaSuccess);
    }
    outputs results;
    s.submit(p, step_of(of, results)).wait();
    return results;
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
    outputs first;
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
