#pragma once

/// Encoded programs as bytes to damage.

#include <megakernels/scheduler/program/codec.hpp>

#include <cstring>
#include <vector>

namespace mk::kit {

/// Magic, version and hash come before what is hashed.
inline constexpr std::size_t header_bytes = 16;

/// Makes the hash right again after bytes were changed.
inline void rehash(std::vector<std::byte>& bytes) {
  auto const hash = hash_of(std::span<std::byte const>(bytes).subspan(header_bytes));
  std::memcpy(bytes.data() + 8, &hash, sizeof hash);
}

} // namespace mk::kit
