#include "models/llama/cuda_kernel.hpp"

namespace mk::llama {

kernel_instance const* cuda_kernel() { return nullptr; }

} // namespace mk::llama
