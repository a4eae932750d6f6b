#pragma once

#include <cstdint>

namespace mk {

/// A program in the session that loaded it.
struct program_id {
  std::uint64_t session = 0;
  std::uint32_t index = 0;

  friend bool operator==(program_id const&, program_id const&) = default;
};

} // namespace mk
