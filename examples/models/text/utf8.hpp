#pragma once

/// UTF-8, one character at a time (Unicode 15, section 3.9: no surrogates, no overlong forms, at most U+10FFFF).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mk {

enum class utf8_state {
  complete,   ///< a character
  incomplete, ///< the text ends within what can still become one
  invalid,    ///< bytes that begin no character
};

struct utf8_step {
  utf8_state state;
  std::size_t bytes; ///< of the character, of its beginning, or of the longest part of one that the invalid bytes hold
};

/// What `text`, which is not empty, begins with.
[[nodiscard]] utf8_step first_of_utf8(std::string_view text) noexcept;

/// The length in bytes of the longest beginning of `text` that is whole characters.
[[nodiscard]] std::size_t valid_utf8_prefix(std::string_view text) noexcept;

/// Adds the encoding of `code_point`, at most U+10FFFF, to `text`.
void append_utf8(std::string& text, std::uint32_t code_point);

/// The code point of the one character that `text` begins with, which must be complete.
[[nodiscard]] std::uint32_t code_point_of(std::string_view text) noexcept;

} // namespace mk
