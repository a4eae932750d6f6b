#include <megakernels/runtime/cuda/internal/launcher.hpp>

#include <algorithm>
#include <string>

namespace mk::cuda {

launcher::launcher(cuda_device const& choice) : kernel_(*choice.kernel) {
  int devices = 0;
  if (auto const result = cudaGetDeviceCount(&devices); result != cudaSuccess || devices == 0) {
    (void)cudaGetLastError();
    throw device_error("cuda device: this machine has no NVIDIA GPU with a working driver (" +
                       std::string(cudaGetErrorString(result)) + ")");
  }
  // The current device belongs to the thread, and all functions of a session may be called by any.
  if (choice.ordinal != 0)
    throw device_error("cuda device: ordinal is " + std::to_string(choice.ordinal) +
                       ", only GPU 0 is supported so far");
  expect(cudaSetDevice(choice.ordinal), "cudaSetDevice");
  auto const attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    expect(cudaDeviceGetAttribute(&value, which, choice.ordinal), "cudaDeviceGetAttribute");
    return value;
  };
  auto const name = "kernel '" + std::string(kernel_.name) + "'";
  cudaFuncAttributes attributes{};
  auto const found = cudaFuncGetAttributes(&attributes, kernel_.cuda->entry);
  if (found == cudaErrorNoKernelImageForDevice || found == cudaErrorInvalidDeviceFunction) {
    (void)cudaGetLastError();
    throw device_error("cuda device: " + name + " was not compiled for this GPU, of compute capability " +
                       std::to_string(attribute(cudaDevAttrComputeCapabilityMajor)) + "." +
                       std::to_string(attribute(cudaDevAttrComputeCapabilityMinor)));
  }
  expect(found, "cudaFuncGetAttributes");
  auto const shared = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (kernel_.shared_bytes + attributes.sharedSizeBytes > static_cast<std::size_t>(shared))
    throw device_error("cuda device: a worker of " + name + " needs " + std::to_string(kernel_.shared_bytes) +
                       " bytes of shared memory, this GPU has " + std::to_string(shared));
  expect(cudaFuncSetAttribute(kernel_.cuda->entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(kernel_.shared_bytes)),
         "cudaFuncSetAttribute");
  int per_multiprocessor = 0;
  expect(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel_.cuda->entry,
                                                       static_cast<int>(kernel_.threads), kernel_.shared_bytes),
         "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  if (per_multiprocessor < 1) throw device_error("cuda device: no worker of " + name + " fits on a multiprocessor");
  workers_ = static_cast<std::uint32_t>(attribute(cudaDevAttrMultiProcessorCount));
  if (choice.most_workers > 0) workers_ = std::min(workers_, choice.most_workers);
}

void launcher::start(device::kernel_arguments const& arguments, cudaStream_t stream) const {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(workers_);
  config.blockDim = dim3(kernel_.threads);
  config.dynamicSmemBytes = kernel_.shared_bytes;
  config.stream = stream;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  auto copy = arguments;
  void* parameters[] = {&copy};
  expect(cudaLaunchKernelExC(&config, kernel_.cuda->entry, parameters), "cooperative launch");
}

} // namespace mk::cuda
