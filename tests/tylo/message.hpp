#pragma once

#include <functional>
#include <stdexcept>
#include <string>

namespace tylo {

/// What a refusal says.
inline std::string message_of(std::function<void()> const& f) {
  try {
    f();
  } catch (std::invalid_argument const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

} // namespace tylo
