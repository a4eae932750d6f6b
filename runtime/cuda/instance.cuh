#pragma once

/// What the CUDA sources that `megakernels_add_kernel` generates include: the kernel of a list.

#include <megakernels/runtime/cuda/open.hpp>
#include <megakernels/runtime/device/kernel.cuh>
#include <megakernels/runtime/kernel_instance.hpp>

namespace mk::cuda {

/// With so many consumer warpgroups a worker (1 to 3).
template <class List, unsigned Groups> cuda_kernel const& kernel_of() {
  static cuda_kernel const kernel{
      .entry = reinterpret_cast<void const*>(&device::persistent_kernel<List, Groups>),
      .most_workers = &most_workers,
      .open = &open,
  };
  return kernel;
}

} // namespace mk::cuda
