#include <megakernels/runtime/gpu/internal/memory.hpp>

#include <algorithm>

namespace mk::gpu {
namespace {

constexpr std::uint64_t piece_alignment = 256;
constexpr std::uint64_t least_block_bytes = std::uint64_t(32) << 20;

} // namespace

memory_pool::memory_pool(gpu::gpu_memory& of, std::uint64_t reserved_bytes, std::function<void()> before_growing)
    : before_growing_(std::move(before_growing)), of_(of) {
  if (reserved_bytes > 0 && !of.allocates_beside_kernels()) grow(reserved_bytes);
}

std::shared_ptr<std::byte> memory_pool::take(std::shared_ptr<memory_pool> const& pool, std::uint64_t bytes) {
  auto const size = (std::max<std::uint64_t>(bytes, 1) + piece_alignment - 1) / piece_alignment * piece_alignment;
  if (pool->of_.allocates_beside_kernels()) return pool->of_.allocate(bytes);
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
  blocks_.push_back(of_.allocate(size));
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

} // namespace mk::gpu
