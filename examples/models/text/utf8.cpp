#include "models/text/utf8.hpp"

namespace mk {
namespace {

unsigned byte_at(std::string_view text, std::size_t index) { return static_cast<unsigned char>(text[index]); }

/// Bytes of the character that `lead` begins, 0 for a byte that begins none.
std::size_t length_of(unsigned lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

/// Whether `second` may follow `lead`: this excludes overlong forms, surrogates and code points above U+10FFFF.
bool may_follow(unsigned lead, unsigned second) {
  unsigned const least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned const most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  return least <= second && second <= most;
}

} // namespace

utf8_step first_of_utf8(std::string_view text) noexcept {
  auto const lead = byte_at(text, 0);
  auto const length = length_of(lead);
  if (length == 0) return {utf8_state::invalid, 1};
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {utf8_state::incomplete, i};
    auto const byte = byte_at(text, i);
    auto const fits = i == 1 ? may_follow(lead, byte) : (byte & 0xc0u) == 0x80u;
    if (!fits) return {utf8_state::invalid, i};
  }
  return {utf8_state::complete, length};
}

std::size_t valid_utf8_prefix(std::string_view text) noexcept {
  std::size_t valid = 0;
  while (valid < text.size()) {
    auto const step = first_of_utf8(text.substr(valid));
    if (step.state != utf8_state::complete) break;
    valid += step.bytes;
  }
  return valid;
}

void append_utf8(std::string& text, std::uint32_t code_point) {
  auto const tail = [&](unsigned shift) { text += static_cast<char>(0x80u | ((code_point >> shift) & 0x3fu)); };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xc0u | code_point >> 6);
    tail(0);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xe0u | code_point >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0u | code_point >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::uint32_t code_point_of(std::string_view text) noexcept {
  auto const lead = byte_at(text, 0);
  auto const length = length_of(lead);
  if (length == 1) return lead;
  std::uint32_t code_point = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) code_point = code_point << 6 | (byte_at(text, i) & 0x3fu);
  return code_point;
}

} // namespace mk
