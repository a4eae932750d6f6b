#pragma once

/// Memory that a device of a session holds.

#include <megakernels/runtime/gpu/internal/driver.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace mk::gpu {

/// Memory of the host that the GPU sees at the same time, zero at first.
class pinned_memory {
public:
  pinned_memory() = default;
  pinned_memory(gpu_memory const& of, std::shared_ptr<std::byte> bytes) : of_(&of), memory_(std::move(bytes)) {}
  pinned_memory(gpu_memory& of, std::uint64_t bytes) : pinned_memory(of, of.allocate_pinned(bytes)) {}

  [[nodiscard]] std::byte* host() const noexcept { return memory_.get(); }
  template <class T> [[nodiscard]] T* host() const noexcept { return reinterpret_cast<T*>(memory_.get()); }
  /// The address by which a kernel finds it.
  template <class T> [[nodiscard]] T* device() const {
    return reinterpret_cast<T*>(of_->device_address(memory_.get()));
  }

private:
  gpu_memory const* of_ = nullptr;
  std::shared_ptr<std::byte> memory_;
};

/// Pieces of a few large allocations, whose memory can be used again. On a GPU a new one is not to be had while a
/// kernel is resident: `before_growing` is called first and ends it. Where memory is to be had at any time there are no
/// pieces.
class memory_pool {
public:
  memory_pool(gpu::gpu_memory& of, std::uint64_t reserved_bytes, std::function<void()> before_growing);

  /// A piece at a multiple of 256 bytes; the contents are unspecified. The pool lives as long as its pieces. Throws
  /// std::bad_alloc where the GPU has no more.
  static std::shared_ptr<std::byte> take(std::shared_ptr<memory_pool> const&, std::uint64_t bytes);

private:
  std::byte* find(std::uint64_t bytes);
  void grow(std::uint64_t bytes);
  void give_back(std::byte* piece, std::uint64_t bytes);

  std::mutex mutex_;
  std::function<void()> before_growing_;
  gpu::gpu_memory& of_;
  std::vector<std::shared_ptr<std::byte>> blocks_;
  std::map<std::byte*, std::uint64_t> free_; ///< pieces by address, neighbours joined
};

} // namespace mk::gpu
