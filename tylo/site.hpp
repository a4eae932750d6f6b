#pragma once

/// Where in the source something was asked for.

#include <megakernels/tylo/target.hpp>

namespace tylo {

/// As a default argument, `site at = site::here()` is the place of the call. Costs nothing in code that is inlined and
/// does not look at it.
struct site {
  char const* file;
  int line;

  static TYLO_FN constexpr site here(char const* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

} // namespace tylo
