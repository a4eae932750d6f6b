#include <megakernels/tylo/layout/number.hpp>

#include <cinttypes>
#include <cstdio>
#include <stdexcept>

namespace tylo::detail {

void (*claim_breaks)(char const* text) = nullptr;

namespace {
[[noreturn]] void refuse(char const* text) {
  if (claim_breaks != nullptr) claim_breaks(text);
  throw std::invalid_argument(text);
}
} // namespace

// The text is made by the C library: code of the C++ library's headers may be a copy that the emulator watches, and
// would see as a kernel that writes to memory of the host.

void throw_no_multiple(char const* what, std::int64_t value, std::int64_t divisor) {
  char text[200];
  std::snprintf(text, sizeof text, "tylo: %s is %" PRId64 ", which is no multiple of %" PRId64, what, value, divisor);
  refuse(text);
}

void throw_negative(char const* what, std::int64_t value) {
  char text[200];
  std::snprintf(text, sizeof text, "tylo: %s is %" PRId64 ", below 0", what, value);
  refuse(text);
}

} // namespace tylo::detail
