#include "cuda/node_graph.hpp"

#include <algorithm>
#include <span>

namespace mk::bench {
namespace {

using cuda::expect;

std::uint32_t multiprocessors() {
  int device = 0, count = 0;
  expect(cudaGetDevice(&device), "cudaGetDevice");
  expect(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  return static_cast<std::uint32_t>(count);
}

} // namespace

node_graph::node_graph(std::shared_ptr<mk::detail::loaded_program const> loaded, node_kernel_set const& kernels,
                       std::shared_ptr<cuda::memory_pool> const& pool, gpu::gpu_memory& copies)
    : kernels_(kernels), pool_(pool), copies_(copies), image_(std::move(loaded), pool, copies, 0),
      slot_bytes_(gpu::slot_bytes_for(image_.program(), image_.program().buffers.size())),
      host_slot_(copies, slot_bytes_ + sizeof(std::uint32_t)),
      slot_(cuda::memory_pool::take(pool, slot_bytes_ + sizeof(std::uint32_t))) {
  upload_records(copies);
  expect(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  expect(cudaEventCreate(&before_), "cudaEventCreate");
  expect(cudaEventCreate(&after_), "cudaEventCreate");
  for (auto const* kernel : kernels_.of_operation)
    expect(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(kernels_.shared_bytes)),
           "cudaFuncSetAttribute");
  capture();
}

node_graph::~node_graph() {
  (void)cudaGraphExecDestroy(replay_);
  (void)cudaEventDestroy(before_);
  (void)cudaEventDestroy(after_);
  (void)cudaStreamDestroy(stream_);
}

void node_graph::upload_records(gpu::gpu_memory& copies) {
  auto const& p = image_.program();
  std::vector<std::uint32_t> numbers(p.records.size());
  for (std::uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  std::ranges::stable_sort(numbers, {}, [&](std::uint32_t i) { return p.records[i].node; });
  first_record_.resize(p.nodes.size() + 1);
  for (auto const& r : p.records) ++first_record_[r.node + 1];
  for (std::size_t n = 0; n < p.nodes.size(); ++n) first_record_[n + 1] += first_record_[n];
  auto const bytes = std::as_bytes(std::span(numbers));
  records_ = cuda::memory_pool::take(pool_, bytes.size());
  copies.to_device(records_.get(), bytes.data(), bytes.size());
}

void node_graph::capture() {
  auto const most = multiprocessors();
  expect(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  auto const& p = image_.program();
  for (std::uint32_t n = 0; n < p.nodes.size(); ++n) {
    node_arguments arguments{.program = image_.address(),
                             .slot = slot_.get(),
                             .records = reinterpret_cast<std::uint32_t const*>(records_.get()) + first_record_[n],
                             .record_count = first_record_[n + 1] - first_record_[n],
                             .node = n};
    if (arguments.record_count == 0) continue;
    launch(kernels_.of_operation[p.nodes[n].operation], std::min(arguments.record_count, most), kernels_.threads,
           kernels_.shared_bytes, &arguments);
  }
  feed_arguments feed{.slot = slot_.get(), .steps = reinterpret_cast<std::uint32_t*>(slot_.get() + slot_bytes_)};
  launch(kernels_.feed, 1, 32, 0, &feed);
  cudaGraph_t graph = nullptr;
  expect(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
  auto const made = cudaGraphInstantiate(&replay_, graph, 0);
  (void)cudaGraphDestroy(graph);
  expect(made, "cudaGraphInstantiate");
  expect(cudaGraphUpload(replay_, stream_), "cudaGraphUpload");
}

void node_graph::launch(void const* kernel, std::uint32_t ctas, std::uint32_t threads, std::uint32_t shared_bytes,
                        void* arguments) const {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream_;
  config.attrs = &overlap;
  config.numAttrs = 1;
  expect(cudaLaunchKernelExC(&config, kernel, &arguments), "launch of a node");
}

double node_graph::run(std::unique_ptr<mk::detail::job> job) {
  auto const steps = job->steps;
  gpu::staged_job const staged(std::move(job), image_, pool_, copies_);
  staged.write_slot(host_slot_.host(), slot_.get(), 0);
  expect(cudaMemcpyAsync(slot_.get(), host_slot_.host(), slot_bytes_ + sizeof(std::uint32_t), cudaMemcpyHostToDevice,
                         stream_),
         "copy of a submission");
  expect(cudaEventRecord(before_, stream_), "cudaEventRecord");
  for (std::uint32_t i = 0; i < steps; ++i) expect(cudaGraphLaunch(replay_, stream_), "cudaGraphLaunch");
  expect(cudaEventRecord(after_, stream_), "cudaEventRecord");
  expect(cudaStreamSynchronize(stream_), "a step, node by node");
  float ms = 0;
  expect(cudaEventElapsedTime(&ms, before_, after_), "cudaEventElapsedTime");
  staged.fetch_outputs(copies_);
  steps_done_ += steps;
  return double(ms) * 1e-3;
}

} // namespace mk::bench
