#include <megakernels/runtime/cuda/internal/gpu_device.hpp>
#include <megakernels/runtime/cuda/open.hpp>

namespace mk::cuda {

std::uint32_t most_workers(cuda_device const& choice) { return launcher(choice).workers(); }

std::unique_ptr<detail::device> open(cuda_device const& choice) { return std::make_unique<gpu_device>(choice); }

} // namespace mk::cuda
