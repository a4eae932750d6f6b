#pragma once

/// A GPU on which a session runs each step as a CUDA graph with a kernel for each node: the baseline `own_graph_pdl`.
/// Everything else of the session - programs, constants, states, values, repeated steps - is the same.

#include <megakernels/runtime/kernel_instance.hpp>

#include "cuda/node_kernels.hpp"

#include <vector>

namespace mk::bench {

/// Stands in `cuda_device` for the kernel instance whose list, programs and settings it takes over.
struct node_by_node : kernel_instance {
  /// Each submission appends its seconds on the GPU to `seconds`.
  node_by_node(kernel_instance const& replaced, node_kernel_set const&, std::vector<double>& seconds);

  cuda_kernel on_cuda; ///< that of the replaced instance, but for how it is opened
  node_kernel_set const* kernels;
  std::vector<double>* seconds;
};

} // namespace mk::bench
