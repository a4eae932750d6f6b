#pragma once

/// Arrays in GPU memory, for probes.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>
#include <vector>

namespace mk::test {

template <class T> class gpu_array {
public:
  static_assert(std::is_trivially_copyable_v<T>);

  /// Zeros.
  explicit gpu_array(std::size_t count) : gpu_array(std::vector<T>(count)) {}
  explicit gpu_array(std::vector<T> const& from) : count_(from.size()) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, count_ * sizeof(T)), cudaSuccess);
    data_ = static_cast<T*>(memory);
    EXPECT_EQ(cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~gpu_array() { (void)cudaFree(data_); }
  gpu_array(gpu_array const&) = delete;
  gpu_array& operator=(gpu_array const&) = delete;

  [[nodiscard]] T* data() const noexcept { return data_; }
  /// Waits for the GPU.
  [[nodiscard]] std::vector<T> fetch() const {
    std::vector<T> result(count_);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(result.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return result;
  }

private:
  std::size_t count_;
  T* data_ = nullptr;
};

} // namespace mk::test
