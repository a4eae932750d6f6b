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

struct kernel_instance {
  std::string_view name;
  operation_table operations; ///< of the list that it holds; programs for other lists are refused
  void const* entry;          ///< the kernel, as the CUDA runtime knows it
  std::uint32_t threads;      ///< of a worker
  std::uint32_t shared_bytes; ///< of a worker
  /// Most workers that a program may have on a GPU. Throws device_error where the GPU cannot run this kernel.
  std::uint32_t (*most_workers)(cuda_device const&);
  /// Opens a GPU for this kernel.
  std::unique_ptr<detail::device> (*open)(cuda_device const&);
};

} // namespace mk
