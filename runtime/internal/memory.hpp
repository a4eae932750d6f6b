#pragma once

/// Memory of the host, and ranges of it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace mk::detail {

/// Zeros at a multiple of 64 bytes; the pages of large blocks are touched only when they are used. Never null, also for
/// 0 bytes. Throws std::bad_alloc.
std::shared_ptr<std::byte> zeroed_memory(std::uint64_t bytes);

struct memory_range {
  std::byte const* begin = nullptr;
  std::uint64_t bytes = 0;

  [[nodiscard]] bool overlaps(memory_range const& other) const {
    std::less<> const before;
    return bytes > 0 && other.bytes > 0 && before(begin, other.begin + other.bytes) &&
           before(other.begin, begin + bytes);
  }
};

} // namespace mk::detail
