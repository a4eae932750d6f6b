#pragma once

/// The scaling of rotary frequencies for sequences over the original length.

#include <megakernels/ops/rope/rope.hpp>
#include <megakernels/tylo/target.hpp>

#include <numbers>

namespace mk {

/// Frequencies by wavelength: long ones are divided by `factor`, short ones are kept, those between are blended.
TYLO_FN inline double scaled_as_llama3(rope::arguments const& a, double frequency) {
  auto const low = static_cast<double>(a.low_frequency_factor), high = static_cast<double>(a.high_frequency_factor);
  auto const turns = a.original_length * frequency / (2 * std::numbers::pi); // within the original length
  if (turns > high) return frequency;
  auto const divided = frequency / static_cast<double>(a.factor);
  if (turns < low) return divided;
  auto const kept = (turns - low) / (high - low);
  return (1 - kept) * divided + kept * frequency;
}

} // namespace mk
