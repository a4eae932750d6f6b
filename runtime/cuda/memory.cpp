#include <megakernels/runtime/cuda/internal/memory.hpp>

#include <algorithm>
#include <cstring>
#include <new>

namespace mk::cuda {
namespace {

constexpr std::uint64_t piece_alignment = 256;
constexpr std::uint64_t least_block_bytes = std::uint64_t(32) << 20;

} // namespace

pinned_memory::pinned_memory(std::uint64_t bytes) {
  void* memory = nullptr;
  expect(cudaHostAlloc(&memory, std::max<std::uint64_t>(bytes, 1), cudaHostAllocMapped | cudaHostAllocPortable),
         "cudaHostAlloc");
  memory_.reset(static_cast<std::byte*>(memory));
  std::memset(memory, 0, bytes);
}

memory_pool::memory_pool(std::uint64_t reserved_bytes, std::function<void()> before_growing)
    : before_growing_(std::move(before_growing)) {
  if (reserved_bytes > 0) grow(reserved_bytes);
}

std::shared_ptr<std::byte> memory_pool::take(std::shared_ptr<memory_pool> const& pool, std::uint64_t bytes) {
  auto const size = (std::max<std::uint64_t>(bytes, 1) + piece_alignment - 1) / piece_alignment * piece_alignment;
  std::unique_lock lock(pool->mutex_);
  auto* piece = pool->find(size);
  if (piece == nullptr) {
    lock.unlock();
    if (pool->before_growing_) pool->before_growing_();
    lock.lock();
    pool->grow(size);
    piece = pool->find(size);
  }
  return {piece, [pool, size](std::byte* memory) { pool->give_back(memory, size); }};
}

std::byte* memory_pool::find(std::uint64_t bytes) {
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    auto const [start, size] = *at;
    if (size < bytes) continue;
    free_.erase(at);
    if (size > bytes) free_.emplace(start + bytes, size - bytes);
    return start;
  }
  return nullptr;
}

void memory_pool::grow(std::uint64_t bytes) {
  auto const size = (std::max(bytes, least_block_bytes) + piece_alignment - 1) / piece_alignment * piece_alignment;
  void* memory = nullptr;
  auto const result = cudaMalloc(&memory, size);
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw std::bad_alloc();
  }
  expect(result, "cudaMalloc");
  blocks_.emplace_back(static_cast<std::byte*>(memory));
  free_.emplace(blocks_.back().get(), size);
}

void memory_pool::give_back(std::byte* piece, std::uint64_t bytes) {
  std::lock_guard const lock(mutex_);
  auto const at = free_.emplace(piece, bytes).first;
  // Blocks are not joined: two that happen to be neighbours were allocated apart.
  auto const starts_block = [&](std::byte* address) {
    return std::any_of(blocks_.begin(), blocks_.end(), [&](auto const& b) { return b.get() == address; });
  };
  if (auto const next = std::next(at);
      next != free_.end() && next->first == piece + bytes && !starts_block(next->first)) {
    at->second += next->second;
    free_.erase(next);
  }
  if (at == free_.begin() || starts_block(piece)) return;
  auto const before = std::prev(at);
  if (before->first + before->second != piece) return;
  before->second += at->second;
  free_.erase(at);
}

copier::copier() : buffer_(2 * chunk_bytes) {
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
