/// Cooperative launches of clusters on all multiprocessors, captured in a graph: what the persistent kernel may count
/// on.

#include "../cuda/kit.hpp"
#include "gpu_array.hpp"
#include "pairs.hpp"

#include <cstdio>
#include <set>

namespace mk::test {
namespace {

/// A launch as cudaLaunchKernelExC takes it.
class launch {
public:
  launch(unsigned ctas, unsigned cluster, bool cooperative, cudaStream_t stream) {
    attributes_[0].id = cudaLaunchAttributeClusterDimension;
    attributes_[0].val.clusterDim = {cluster, 1, 1};
    attributes_[1].id = cudaLaunchAttributeCooperative;
    attributes_[1].val.cooperative = 1;
    config_.gridDim = dim3(ctas);
    config_.blockDim = dim3(pair_threads);
    config_.dynamicSmemBytes = pair_shared_bytes;
    config_.stream = stream;
    config_.attrs = attributes_;
    config_.numAttrs = cooperative ? 2 : 1;
  }
  launch(launch const&) = delete;
  launch& operator=(launch const&) = delete;

  cudaError_t start(pair_arguments arguments) const {
    void* parameters[] = {&arguments};
    return cudaLaunchKernelExC(&config_, pair_kernel(), parameters);
  }
  /// Clusters that can be resident at the same time.
  unsigned most_clusters() const {
    int count = 0;
    EXPECT_EQ(cudaOccupancyMaxActiveClusters(&count, pair_kernel(), &config_), cudaSuccess);
    return static_cast<unsigned>(count);
  }

private:
  cudaLaunchAttribute attributes_[2] = {};
  cudaLaunchConfig_t config_{};
};

class pairs : public gpu_test {
protected:
  void SetUp() override {
    gpu_test::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(cudaFuncSetAttribute(pair_kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, pair_shared_bytes),
              cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ != nullptr) {
      EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    }
  }

  static void expect_all_met(gpu_array<pair_state> const& state, unsigned ctas, unsigned launches) {
    auto const s = state.fetch()[0];
    EXPECT_EQ(s.arrived, ctas * launches);
    EXPECT_EQ(s.late, 0u);
    EXPECT_EQ(s.wrong, 0u);
    EXPECT_EQ(s.misplaced, 0u);
  }
  static std::size_t different(gpu_array<std::uint32_t> const& multiprocessors) {
    auto const list = multiprocessors.fetch();
    return std::set<std::uint32_t>(list.begin(), list.end()).size();
  }

  /// One capture, replayed a hundred times.
  void replay(unsigned ctas, unsigned cluster) {
    gpu_array<pair_state> const state(1);
    gpu_array<std::uint32_t> const where(ctas);
    launch const l(ctas, cluster, true, stream_);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    auto const started = l.start({.state = state.data(), .multiprocessors = where.data(), .cluster = cluster});
    ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    ASSERT_EQ(started, cudaSuccess) << cudaGetErrorString(started);
    ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(cudaGraphLaunch(ready, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    expect_all_met(state, ctas, 100);
    auto const used = different(where);
    std::printf("clusters of %u: cooperative, captured, replayed 100 times: %zu of %u multiprocessors\n", cluster, used,
                multiprocessors());
    RecordProperty("multiprocessors_with_clusters_of_" + std::to_string(cluster), static_cast<int>(used));
    EXPECT_EQ(used, ctas);
    EXPECT_EQ(cudaGraphExecDestroy(ready), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }

  cudaStream_t stream_ = nullptr;
};

TEST_F(pairs, single_workers_and_pairs_reach_every_multiprocessor_in_a_replayed_graph) {
  for (unsigned cluster : {1u, 2u}) {
    launch const l(multiprocessors(), cluster, false, stream_);
    EXPECT_EQ(l.most_clusters() * cluster, multiprocessors()) << "clusters of " << cluster;
    replay(multiprocessors() / cluster * cluster, cluster);
  }
}

TEST_F(pairs, clusters_of_four_reach_fewer_and_too_many_are_refused) {
  constexpr unsigned cluster = 4;
  auto const wanted = multiprocessors() / cluster * cluster;
  auto const most = launch(wanted, cluster, false, stream_).most_clusters() * cluster;
  std::printf("clusters of %u: %u of %u multiprocessors\n", cluster, most, multiprocessors());
  RecordProperty("multiprocessors_with_clusters_of_4", static_cast<int>(most));
  ASSERT_GT(most, 0u);
  if (most < wanted) {
    gpu_array<pair_state> const state(1);
    gpu_array<std::uint32_t> const where(wanted);
    auto const refused = launch(wanted, cluster, true, stream_)
                             .start({.state = state.data(), .multiprocessors = where.data(), .cluster = cluster});
    std::printf("cooperative launch of %u: %s\n", wanted, cudaGetErrorName(refused));
    EXPECT_EQ(refused, cudaErrorCooperativeLaunchTooLarge);
    EXPECT_EQ(cudaGetLastError(), refused); // and it is cleared
  }
  replay(most, cluster);
}

} // namespace
} // namespace mk::test
