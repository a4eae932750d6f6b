#include "models/llama/kernel.hpp"

#include <megakernels/kernels/llama.hpp>

namespace mk::llama {

kernel_instance const& llama_kernel() { return kernels::llama(); }

} // namespace mk::llama
