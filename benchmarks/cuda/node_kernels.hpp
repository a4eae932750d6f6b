#pragma once

/// The kernels that run the nodes of Llama programs one by one; see node_kernel.cuh.

#include <megakernels/runtime/device/layout.hpp>

#include <cstdint>
#include <vector>

namespace mk::bench {

/// What a node's kernel is given; all in GPU memory.
struct node_arguments {
  device::program_image const* program;
  std::byte const* slot;        ///< of the submission
  std::uint32_t const* records; ///< those of the node
  std::uint32_t record_count;
  std::uint32_t node;
};

/// What the kernel behind the nodes of a step is given: it hands values on to the next step.
struct feed_arguments {
  std::byte const* slot;
  std::uint32_t* steps; ///< done in this submission; the kernel counts
};

/// Kernels as the CUDA runtime knows them, and how they are launched.
struct node_kernel_set {
  std::vector<void const*> of_operation; ///< for each operation of the list; takes node_arguments
  void const* feed;                      ///< one CTA of one warp; takes feed_arguments
  std::uint32_t threads;                 ///< of a node's CTA
  std::uint32_t shared_bytes;            ///< of a node's CTA
};

/// For mk::llama_list, with as many consumers as the kernel `llama` has.
node_kernel_set const& llama_node_kernels();

} // namespace mk::bench
