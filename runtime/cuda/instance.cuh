#pragma once

/// What the sources that `megakernels_add_kernel` generates include: a kernel instance from a list.

#include <megakernels/runtime/cuda/open.hpp>
#include <megakernels/runtime/device/kernel.cuh>
#include <megakernels/runtime/kernel_instance.hpp>

namespace mk::cuda {

/// The instance of a list of operations, with so many consumer warpgroups a worker (1 to 3).
template <class List, unsigned Groups> kernel_instance const& instance_of(std::string_view name) {
  static kernel_instance const instance{
      .name = name,
      .operations = List::table,
      .entry = reinterpret_cast<void const*>(&device::persistent_kernel<List, Groups>),
      .threads = device::worker_threads<Groups>,
      .shared_bytes = sizeof(device::worker_memory),
      .most_workers = &most_workers,
      .open = &open,
  };
  return instance;
}

} // namespace mk::cuda
