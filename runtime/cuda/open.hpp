#pragma once

#include <megakernels/runtime/device.hpp>

#include <cstdint>
#include <memory>

namespace mk::detail {
class device;
}

namespace mk::cuda {

/// Workers that can be resident on the GPU of `choice` at the same time. Throws device_error.
std::uint32_t most_workers(cuda_device const& choice);

/// Opens the GPU of `choice` for its kernel. Throws device_error.
std::unique_ptr<detail::device> open(cuda_device const& choice);

} // namespace mk::cuda
