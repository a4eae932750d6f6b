#pragma once

#include <cstdint>
#include <cstdlib>

namespace mk::test {

/// The number that an environment variable has, if it is set.
inline std::uint64_t number_from(char const* variable, std::uint64_t otherwise) {
  auto const* const value = std::getenv(variable);
  return value != nullptr ? std::strtoull(value, nullptr, 10) : otherwise;
}

} // namespace mk::test
