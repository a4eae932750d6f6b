#include "models/llama/cuda_kernel.hpp"

#include <megakernels/kernels/llama.hpp>

namespace mk::llama {

kernel_instance const* cuda_kernel() { return &kernels::llama(); }

} // namespace mk::llama
