#pragma once

/// Programs on the GPU beside the same on the host.

#include "../runtime/layer_program.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace mk::test {

/// Why there is nothing to run on here; empty where there is a Hopper GPU.
inline std::string gpu_absence() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return "this machine has no GPU";
  int major = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess || major != 9)
    return "the GPU is not a Hopper one";
  return {};
}

/// Skips, by name and with the reason, where there is no GPU.
class gpu_test : public testing::Test {
protected:
  void SetUp() override {
    if (auto const why = gpu_absence(); !why.empty()) GTEST_SKIP() << why;
  }
};

inline std::uint32_t multiprocessors() {
  int count = 0;
  (void)cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);
  return static_cast<std::uint32_t>(count);
}

} // namespace mk::test
