#pragma once

/// Memory by the CUDA runtime.

#include <megakernels/runtime/cuda/internal/error.hpp>
#include <megakernels/runtime/gpu/internal/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace mk::cuda {

using gpu::memory_pool;
using gpu::pinned_memory;

/// Copies go through a pinned buffer, on a stream of their own.
class copier final : public gpu::gpu_memory {
public:
  copier();
  ~copier() override;
  copier(copier const&) = delete;
  copier& operator=(copier const&) = delete;

  std::shared_ptr<std::byte> allocate(std::uint64_t bytes) override;
  [[nodiscard]] bool allocates_beside_kernels() const override { return false; }
  std::shared_ptr<std::byte> allocate_pinned(std::uint64_t bytes) override;
  [[nodiscard]] std::byte* device_address(std::byte* pinned) const override;

  void to_device(std::byte* to, std::byte const* from, std::uint64_t bytes) override;
  void to_host(std::byte* to, std::byte const* from, std::uint64_t bytes) override;
  void zero(std::byte* to, std::uint64_t bytes) override;

  [[nodiscard]] bool is_device_memory(void const* address) const override;

private:
  static constexpr std::uint64_t chunk_bytes = std::uint64_t(8) << 20;

  std::mutex mutex_;
  cudaStream_t stream_ = nullptr;
  pinned_memory buffer_; ///< a chunk for data, and one of zeros
};

} // namespace mk::cuda
