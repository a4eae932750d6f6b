#pragma once

#include <megakernels/runtime/kernel_instance.hpp>

namespace mk::llama {

/// The kernel that holds the operations of a Llama model; null in a build without CUDA.
kernel_instance const* cuda_kernel();

} // namespace mk::llama
