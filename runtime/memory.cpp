#include <megakernels/runtime/internal/memory.hpp>

#include <cstdlib>
#include <limits>
#include <new>

namespace mk::detail {

std::shared_ptr<std::byte> zeroed_memory(std::uint64_t bytes) {
  constexpr std::uint64_t alignment = 64;
  if (bytes > std::numeric_limits<std::size_t>::max() - alignment) throw std::bad_alloc();
  // calloc does not touch the pages of large blocks, which an aligned allocation and a fill would.
  std::unique_ptr<std::byte, void (*)(void*)> block(static_cast<std::byte*>(std::calloc(bytes + alignment, 1)),
                                                    std::free);
  if (block == nullptr) throw std::bad_alloc();
  std::shared_ptr<std::byte> const owner(std::move(block));
  auto const place = reinterpret_cast<std::uintptr_t>(owner.get());
  return {owner, owner.get() + (alignment - place % alignment) % alignment};
}

} // namespace mk::detail
