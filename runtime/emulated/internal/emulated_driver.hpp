#pragma once

/// A GPU that the emulator plays.

#include <megakernels/runtime/gpu/internal/driver.hpp>

#include <memory>

namespace mk::emulated {

/// Throws device_error where the choice cannot be.
std::unique_ptr<detail::device> open(emulator_device const&);

} // namespace mk::emulated
