#include <megakernels/runtime/cuda/internal/cuda_driver.hpp>
#include <megakernels/runtime/cuda/open.hpp>
#include <megakernels/runtime/gpu/internal/gpu_device.hpp>

namespace mk::cuda {

std::uint32_t most_workers(cuda_device const& choice) { return launcher(choice).workers(); }

std::unique_ptr<detail::device> open(cuda_device const& choice) {
  return std::make_unique<gpu::gpu_device>(settings_of(choice), std::make_unique<cuda_driver>(choice));
}

} // namespace mk::cuda
