#pragma once

/// The printable characters that stand for bytes in byte-level BPE vocabularies (GPT-2's `bytes_to_unicode`):
/// printable characters of Latin-1 stand for themselves, the other bytes, in order, are U+0100 and following.

#include <optional>
#include <string>
#include <string_view>

namespace mk {

/// The bytes that `text` stands for; nothing where it holds anything but characters of the alphabet.
[[nodiscard]] std::optional<std::string> bytes_of_alphabet(std::string_view text);

/// The characters that stand for `bytes`, in UTF-8.
[[nodiscard]] std::string alphabet_of_bytes(std::string_view bytes);

} // namespace mk
