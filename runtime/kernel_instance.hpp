#pragma once

/// The persistent kernel compiled for one list of operations. `megakernels_add_kernel` (CMake) makes one from a list.

#include <megakernels/ops/operation_list.hpp>
#include <megakernels/runtime/device.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace mk {

namespace detail {
class device;
}
namespace device {
struct kernel_arguments;
}

/// The kernel as CUDA compiled it.
struct cuda_kernel {
  void const* entry; ///< as the CUDA runtime knows it
  /// Most workers that a program may have on a GPU. Throws device_error where the GPU cannot run this kernel.
  std::uint32_t (*most_workers)(cuda_device const&);
  /// Opens a GPU for this kernel.
  std::unique_ptr<detail::device> (*open)(cuda_device const&);
};

struct kernel_instance {
  std::string_view name;
  operation_table operations; ///< of the list that it holds; programs for other lists are refused
  std::uint32_t threads;      ///< of a worker
  std::uint32_t shared_bytes; ///< of a worker
  cuda_kernel const* cuda;    ///< null in a build without CUDA
  /// What each thread of the emulated kernel does; null in a build without the emulator.
  void (*emulated)(device::kernel_arguments const&);
};

} // namespace mk
