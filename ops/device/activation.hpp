#pragma once

/// Activation functions in fp32.

#include <megakernels/tylo/target.hpp>

#include <cmath>

namespace mk::handlers {

/// v / (1 + exp(-v)); -0 far below 0, NaN at -infinity as by the formula.
TYLO_FN inline float silu(float v) { return v / (1.0f + std::exp(-v)); }

} // namespace mk::handlers
