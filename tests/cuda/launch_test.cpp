#include <megakernels/kernels/small.hpp>
#include <megakernels/ops/error.hpp>

#include "kit.hpp"

namespace mk::test {
namespace {

using cuda_launch = gpu_test;

/// Memory of the GPU with the contents of a tensor.
class on_gpu {
public:
  explicit on_gpu(tensor const& from) : view(from.view()), bytes(from.size_bytes()) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, bytes + 1), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(memory, from.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    view.data = static_cast<std::byte*>(memory);
  }
  ~on_gpu() { (void)cudaFree(view.data); }
  on_gpu(on_gpu const&) = delete;
  on_gpu& operator=(on_gpu const&) = delete;

  std::vector<std::byte> fetch(std::uint64_t count) const {
    std::vector<std::byte> result(count);
    EXPECT_EQ(cudaMemcpy(result.data(), view.data, count, cudaMemcpyDeviceToHost), cudaSuccess);
    return result;
  }
  tensor_view with_rows(std::int64_t rows) const {
    auto result = view;
    result.extents[0] = rows;
    return result;
  }

  tensor_view view;
  std::uint64_t bytes;
};

TEST_F(cuda_launch, a_captured_launch_replays_with_changed_lengths) {
  layer_program const layer;
  session host(host_device{}, small_operations);
  layer.set_constants(host);
  auto const on_host = host.load(layer.make(2));
  session s(cuda_device{.kernel = &kernels::small(), .mode = run_mode::launch}, small_operations);
  layer.set_constants(s);
  auto const p = s.load(layer.make(multiprocessors()));

  on_gpu const x(*whole_numbers(data_type::fp32, {layer.rows, layer.width}, 3));
  on_gpu const y(tensor(data_type::fp32, {layer.rows, layer.width}));
  auto const step_of = [&](std::int64_t rows) {
    return mk::step().live("rows", rows).bind("x", x.with_rows(rows)).bind("y", y.with_rows(rows));
  };
  // [capture]
  auto l = s.prepare(p, step_of(layer.rows)); // a launch of the program, with its first step

  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  l.enqueue(stream);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t replay = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
  // [/capture]

  std::vector<std::vector<std::byte>> expected;
  for (std::int64_t rows = 0; rows <= layer.rows; ++rows)
    expected.push_back(bytes_of(layer.run(host, on_host, rows, 3))); // rows are a beginning of the same numbers
  for (int i = 0; i < 1000; ++i) {
    auto const rows = (i * 5) % (layer.rows + 1);
    l.set(step_of(rows)); // replays from now on have other lengths and values
    ASSERT_EQ(cudaMemsetAsync(y.view.data, 0xFF, y.bytes, stream), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(replay, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    auto const& right = expected[static_cast<std::size_t>(rows)];
    ASSERT_EQ(y.fetch(right.size()), right) << "replay " << i << ", " << rows << " rows";
    auto const all = y.fetch(y.bytes);
    for (auto at = right.size(); at < all.size(); ++at) ASSERT_EQ(all[at], std::byte{0xFF}) << "replay " << i;
  }
  l.check();
  EXPECT_EQ(cudaGraphExecDestroy(replay), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(cuda_launch, host_memory_is_refused_by_name) {
  layer_program const layer;
  session s(cuda_device{.kernel = &kernels::small(), .mode = run_mode::launch}, small_operations);
  layer.set_constants(s);
  auto const p = s.load(layer.make(2));
  tensor x(data_type::fp32, {1, layer.width}), y(data_type::fp32, {1, layer.width});
  EXPECT_THROW((void)s.prepare(p, mk::step().live("rows", 1).bind("x", x.view()).bind("y", y.view())), submit_error);
}

TEST_F(cuda_launch, no_stream_on_the_host) {
  layer_program const layer;
  session s(host_device{}, small_operations);
  layer.set_constants(s);
  auto const p = s.load(layer.make(2));
  tensor x(data_type::fp32, {1, layer.width}), y(data_type::fp32, {1, layer.width});
  EXPECT_THROW((void)s.prepare(p, mk::step().live("rows", 1).bind("x", x.view()).bind("y", y.view())), device_error);
}

} // namespace
} // namespace mk::test
