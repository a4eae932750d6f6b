#include "models/text/byte_alphabet.hpp"

#include "models/text/utf8.hpp"

#include <array>
#include <cstdint>

namespace mk {
namespace {

constexpr std::uint32_t first_substitute = 256;

constexpr bool stands_for_itself(std::uint32_t byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
}

struct alphabet {
  std::array<std::uint16_t, 256> code_point{};
  std::array<std::int16_t, 512> byte{}; // -1 where no byte has that code point
};

constexpr alphabet make_alphabet() {
  alphabet result;
  result.byte.fill(-1);
  std::uint32_t next = first_substitute;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    auto const code_point = stands_for_itself(byte) ? byte : next++;
    result.code_point[byte] = static_cast<std::uint16_t>(code_point);
    result.byte[code_point] = static_cast<std::int16_t>(byte);
  }
  return result;
}

constexpr alphabet letters = make_alphabet();

} // namespace

std::optional<std::string> bytes_of_alphabet(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    auto const step = first_of_utf8(text);
    if (step.state != utf8_state::complete) return std::nullopt;
    auto const code_point = code_point_of(text);
    if (code_point >= letters.byte.size() || letters.byte[code_point] < 0) return std::nullopt;
    bytes += static_cast<char>(letters.byte[code_point]);
    text.remove_prefix(step.bytes);
  }
  return bytes;
}

std::string alphabet_of_bytes(std::string_view bytes) {
  std::string text;
  for (char const byte : bytes) append_utf8(text, letters.code_point[static_cast<unsigned char>(byte)]);
  return text;
}

} // namespace mk
