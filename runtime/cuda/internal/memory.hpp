#pragma once

/// Memory of the GPU and pinned memory of the host. Nothing here needs a multiprocessor: copies go through the copy
/// engines, so that all of it works beside a resident kernel.

#include <megakernels/runtime/cuda/internal/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace mk::cuda {

struct free_device {
  void operator()(std::byte* memory) const noexcept { (void)cudaFree(memory); }
};
struct free_pinned {
  void operator()(std::byte* memory) const noexcept { (void)cudaFreeHost(memory); }
};
using device_memory = std::unique_ptr<std::byte, free_device>;

/// Memory of the host that the GPU sees at the same time, zero at first.
class pinned_memory {
public:
  pinned_memory() = default;
  explicit pinned_memory(std::uint64_t bytes);

  [[nodiscard]] std::byte* host() const noexcept { return memory_.get(); }
  template <class T> [[nodiscard]] T* host() const noexcept { return reinterpret_cast<T*>(memory_.get()); }
  /// The address by which a kernel finds it.
  template <class T> [[nodiscard]] T* device() const;

private:
  std::unique_ptr<std::byte, free_pinned> memory_;
};

template <class T> T* pinned_memory::device() const {
  void* address = nullptr;
  expect(cudaHostGetDevicePointer(&address, memory_.get(), 0), "cudaHostGetDevicePointer");
  return static_cast<T*>(address);
}

/// Pieces of a few large allocations. New ones are made by `cudaMalloc`, which does not return while a kernel is
/// resident: `before_growing` is called first and ends it.
class memory_pool {
public:
  memory_pool(std::uint64_t reserved_bytes, std::function<void()> before_growing);

  /// A piece at a multiple of 256 bytes; the contents are unspecified. The pool lives as long as its pieces. Throws
  /// std::bad_alloc where the GPU has no more.
  static std::shared_ptr<std::byte> take(std::shared_ptr<memory_pool> const&, std::uint64_t bytes);

private:
  std::byte* find(std::uint64_t bytes);
  void grow(std::uint64_t bytes);
  void give_back(std::byte* piece, std::uint64_t bytes);

  std::mutex mutex_;
  std::function<void()> before_growing_;
  std::vector<device_memory> blocks_;
  std::map<std::byte*, std::uint64_t> free_; ///< pieces by address, neighbours joined
};

/// Copies between pageable host memory and the GPU through a pinned buffer, on a stream of its own. Each call returns
/// when its copy is done. May be used by several threads.
class copier {
public:
  copier();
  ~copier();
  copier(copier const&) = delete;
  copier& operator=(copier const&) = delete;

  void to_device(std::byte* to, std::byte const* from, std::uint64_t bytes);
  void to_host(std::byte* to, std::byte const* from, std::uint64_t bytes);
  void zero(std::byte* to, std::uint64_t bytes);

private:
  static constexpr std::uint64_t chunk_bytes = std::uint64_t(8) << 20;

  std::mutex mutex_;
  cudaStream_t stream_ = nullptr;
  pinned_memory buffer_; ///< a chunk for data, and one of zeros
};

} // namespace mk::cuda
