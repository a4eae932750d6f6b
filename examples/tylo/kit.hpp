#pragma once

/// What the examples of docs/tylo share: numbers, comparison with plain loops, and a line for each result.

#include <megakernels/tylo/emulator/launch.hpp>
#include <megakernels/tylo/emulator/memory.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

namespace kit {

namespace emulator = tylo::emulator;

/// Numbers from -range to range, the same on every run.
inline std::vector<float> numbers(std::size_t count, float range = 4) {
  std::vector<float> result(count);
  std::uint32_t state = 1;
  for (auto& v : result) {
    state = state * 1664525 + 1013904223;
    v = (static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1) * range;
  }
  return result;
}

/// The same in another type.
template <class T> std::vector<T> as(std::span<float const> values) {
  std::vector<T> result;
  for (auto const v : values) result.push_back(T(v));
  return result;
}

inline int failures = 0;

inline void say(char const* what, bool right) {
  std::printf("%s: %s\n", what, right ? "as by a plain loop" : "WRONG");
  failures += right ? 0 : 1;
}

/// Whether all differences are at most `relative` of what is expected, and of 1 where that is less.
template <class T> bool near(std::span<T> found, std::span<double const> expected, double relative) {
  if (found.size() != expected.size()) return false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto const bound = relative * std::max(std::abs(expected[i]), 1.0);
    if (!(std::abs(static_cast<double>(static_cast<float>(found[i])) - expected[i]) <= bound)) return false;
  }
  return true;
}

} // namespace kit
