#pragma once

#include <megakernels/runtime/device.hpp>

#include <memory>

namespace mk::detail {
class device;
}

namespace mk::cuda {

/// Opens the GPU of `choice` for its kernel. Throws device_error.
std::unique_ptr<detail::device> open(cuda_device const& choice);

} // namespace mk::cuda
