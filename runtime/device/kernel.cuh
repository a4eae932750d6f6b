#pragma once

/// The persistent kernel as a GPU starts it. A kernel instance is this template for one list.

#include <megakernels/runtime/device/worker.hpp>

namespace mk::device {

template <class List, unsigned Groups>
__global__ void __launch_bounds__(worker_threads<Groups>, 1) persistent_kernel(kernel_arguments const arguments) {
  run_worker<List, Groups>(arguments);
}

} // namespace mk::device
