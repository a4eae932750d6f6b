#pragma once

#include <megakernels/ops/error.hpp>

#include <cuda_runtime_api.h>

#include <string>

namespace mk::cuda {

/// Throws `device_error` naming what failed and why, and clears the runtime's last error.
inline void expect(cudaError_t result, char const* what) {
  if (result == cudaSuccess) return;
  (void)cudaGetLastError();
  throw device_error(std::string("cuda device: ") + what + " failed: " + cudaGetErrorString(result) + " (" +
                     cudaGetErrorName(result) + ")");
}

} // namespace mk::cuda
