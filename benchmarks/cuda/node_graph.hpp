#pragma once

/// One step of a program as a CUDA graph: a kernel for each node, in the order of the graph, with programmatic
/// dependent launch; then a kernel that hands values on to the next step.

#include <megakernels/runtime/cuda/internal/memory.hpp>
#include <megakernels/runtime/gpu/internal/image.hpp>
#include <megakernels/runtime/gpu/internal/staging.hpp>

#include "node_kernels.hpp"

#include <memory>

namespace mk::bench {

class node_graph {
public:
  node_graph(std::shared_ptr<mk::detail::loaded_program const>, node_kernel_set const&,
             std::shared_ptr<cuda::memory_pool> const&, gpu::gpu_memory&);
  ~node_graph();
  node_graph(node_graph const&) = delete;
  node_graph& operator=(node_graph const&) = delete;

  /// Runs all steps of a job, and waits for their end; seconds between two events around the replays.
  double run(std::unique_ptr<mk::detail::job>);

  [[nodiscard]] std::uint32_t steps_done() const noexcept { return steps_done_; }

private:
  void upload_records(gpu::gpu_memory&);
  void capture();
  void launch(void const* kernel, std::uint32_t ctas, std::uint32_t threads, std::uint32_t shared_bytes,
              void* arguments) const;

  node_kernel_set const& kernels_;
  std::shared_ptr<cuda::memory_pool> pool_;
  gpu::gpu_memory& copies_;
  gpu::resident_image image_;
  std::vector<std::uint32_t> first_record_; ///< of each node in `records_`, and the end
  std::shared_ptr<std::byte> records_;      ///< numbers of the records, node by node
  std::uint64_t slot_bytes_;
  cuda::pinned_memory host_slot_;   ///< the slot, then a zero
  std::shared_ptr<std::byte> slot_; ///< the slot, then the number of steps that the submission has done
  cudaStream_t stream_ = nullptr;
  cudaEvent_t before_ = nullptr, after_ = nullptr;
  cudaGraphExec_t replay_ = nullptr;
  std::uint32_t steps_done_ = 0;
};

} // namespace mk::bench
