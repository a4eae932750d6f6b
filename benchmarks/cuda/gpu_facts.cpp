#include "cuda/gpu_facts.hpp"

#include <megakernels/runtime/cuda/internal/error.hpp>

#include <cuda_runtime_api.h>

namespace mk::bench {

std::string gpu_name() {
  cudaDeviceProp properties{};
  return cudaGetDeviceProperties(&properties, 0) == cudaSuccess ? properties.name : "no GPU";
}

std::int64_t multiprocessors() {
  int count = 0;
  cuda::expect(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  return count;
}

} // namespace mk::bench
