#pragma once

/// What the C++ sources that `megakernels_add_kernel` generates include: a kernel instance from a list.

#include <megakernels/ops/operation_list.hpp>
#include <megakernels/runtime/device/worker.hpp>
#include <megakernels/runtime/kernel_instance.hpp>

#include <string_view>

namespace mk::emulated {

/// The instance of a list of operations, with so many consumer warpgroups a worker (1 to 3). `cuda`: may be null.
template <class List, unsigned Groups> kernel_instance instance_of(std::string_view name, cuda_kernel const* cuda) {
  return {
      .name = name,
      .operations = List::table,
      .threads = device::worker_threads<Groups>,
      .shared_bytes = sizeof(device::worker_memory),
      .cuda = cuda,
#if MK_EMULATOR
      .emulated = &device::run_worker<List, Groups>,
#else
      .emulated = nullptr,
#endif
  };
}

} // namespace mk::emulated
