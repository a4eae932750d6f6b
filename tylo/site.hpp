#pragma once

/// Where in the source something was asked for.

#include <megakernels/tylo/target.hpp>

namespace tylo {

/// As a default argument, `site at = site::here()` is the place of the call. Costs nothing in code that is inlined and
/// does not look at it.
struct site {
  char const* file;
  int line;
  int step = 0; ///< of what is called there, where that waits or meets several times: 1, 2 and so on

  static TYLO_FN constexpr site here(char const* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  [[nodiscard]] TYLO_FN constexpr site at_step(int which) const { return {file, line, which}; }
};

} // namespace tylo
