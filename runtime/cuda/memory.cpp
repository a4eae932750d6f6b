#include <megakernels/runtime/cuda/internal/memory.hpp>

#include <algorithm>
#include <cstring>
#include <new>

namespace mk::cuda {

std::shared_ptr<std::byte> copier::allocate(std::uint64_t bytes) {
  void* memory = nullptr;
  auto const result = cudaMalloc(&memory, bytes);
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw std::bad_alloc();
  }
  expect(result, "cudaMalloc");
  return {static_cast<std::byte*>(memory), [](std::byte* m) { (void)cudaFree(m); }};
}

std::shared_ptr<std::byte> copier::allocate_pinned(std::uint64_t bytes) {
  void* memory = nullptr;
  expect(cudaHostAlloc(&memory, std::max<std::uint64_t>(bytes, 1), cudaHostAllocMapped | cudaHostAllocPortable),
         "cudaHostAlloc");
  std::memset(memory, 0, bytes);
  return {static_cast<std::byte*>(memory), [](std::byte* m) { (void)cudaFreeHost(m); }};
}

std::byte* copier::device_address(std::byte* pinned) const {
  void* address = nullptr;
  expect(cudaHostGetDevicePointer(&address, pinned, 0), "cudaHostGetDevicePointer");
  return static_cast<std::byte*>(address);
}

bool copier::is_device_memory(void const* address) const {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

copier::copier() : buffer_(*this, 2 * chunk_bytes) {
  expect(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

copier::~copier() { (void)cudaStreamDestroy(stream_); }

void copier::to_device(std::byte* to, std::byte const* from, std::uint64_t bytes) {
  std::lock_guard const lock(mutex_);
  for (std::uint64_t at = 0; at < bytes; at += chunk_bytes) {
    auto const part = std::min(chunk_bytes, bytes - at);
    std::memcpy(buffer_.host(), from + at, part);
    expect(cudaMemcpyAsync(to + at, buffer_.host(), part, cudaMemcpyHostToDevice, stream_), "copy to the GPU");
    expect(cudaStreamSynchronize(stream_), "copy to the GPU");
  }
}

void copier::to_host(std::byte* to, std::byte const* from, std::uint64_t bytes) {
  std::lock_guard const lock(mutex_);
  for (std::uint64_t at = 0; at < bytes; at += chunk_bytes) {
    auto const part = std::min(chunk_bytes, bytes - at);
    expect(cudaMemcpyAsync(buffer_.host(), from + at, part, cudaMemcpyDeviceToHost, stream_), "copy from the GPU");
    expect(cudaStreamSynchronize(stream_), "copy from the GPU");
    std::memcpy(to + at, buffer_.host(), part);
  }
}

void copier::zero(std::byte* to, std::uint64_t bytes) {
  std::lock_guard const lock(mutex_);
  for (std::uint64_t at = 0; at < bytes; at += chunk_bytes)
    expect(cudaMemcpyAsync(to + at, buffer_.host() + chunk_bytes, std::min(chunk_bytes, bytes - at),
                           cudaMemcpyHostToDevice, stream_),
           "zeroing memory of the GPU");
  expect(cudaStreamSynchronize(stream_), "zeroing memory of the GPU");
}

} // namespace mk::cuda
