#pragma once

#include <megakernels/runtime/kernel_instance.hpp>

namespace mk::llama {

/// The kernel that holds the operations of a Llama model.
kernel_instance const& llama_kernel();

} // namespace mk::llama
