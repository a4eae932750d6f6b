#pragma once

/// Starts the kernel of an instance, with as many workers as can run at the same time.

#include <megakernels/runtime/cuda/internal/memory.hpp>
#include <megakernels/runtime/device/layout.hpp>
#include <megakernels/runtime/kernel_instance.hpp>

#include <cstdint>

namespace mk::cuda {

class launcher {
public:
  /// Throws device_error where the GPU is not there, is not one that the kernel was compiled for, or cannot hold a
  /// worker.
  explicit launcher(cuda_device const&);

  /// Workers of every launch: multiprocessors, or `most_workers` where that is less.
  [[nodiscard]] std::uint32_t workers() const noexcept { return workers_; }

  /// A cooperative launch: all workers are resident, or it fails.
  void start(device::kernel_arguments const&, cudaStream_t) const;

private:
  kernel_instance const& kernel_;
  std::uint32_t workers_ = 0;
};

} // namespace mk::cuda
