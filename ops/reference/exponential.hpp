#pragma once

/// exp for the references: in fp32 a form that the compiler vectorises and that gives the same bits with every C
/// library.

#include <bit>
#include <cmath>
#include <cstdint>

namespace mk::reference {

/// exp(x) within 1 ulp. 1 at 0, NaN for NaN, +infinity over 88.72283; results below 2^-125.5 are 0.
/// exp(x) = 2^n * exp(r), n the integer nearest to x / ln 2, |r| <= ln(2) / 2, exp(r) by its series.
inline float exponential(float x) {
  constexpr float most = 89.0f;            // overflows
  constexpr float magic = 12582912.0f;     // 1.5 * 2^23: a number added to it is rounded to an integer
  constexpr float ln2_high = 0.693359375f; // 9 significant bits: n times it is exact
  constexpr float ln2_low = -2.12194440e-4f;

  // One bound for both signs: GCC makes branches of two, and does not vectorise them.
  float const magnitude = std::abs(x);
  float const inside = std::copysign(magnitude > most ? most : magnitude, x); // NaN stays NaN
  float const shifted = inside * 1.44269504f + magic;
  float const n = shifted - magic;
  float const r = (inside - n * ln2_high) - n * ln2_low;
  float series = 1.0f / 5040;
  series = series * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = (series * r) * r + r;
  // 2^(n-1), since 2^128 is no fp32 number; and 0 from n = -126 down.
  auto const exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(magic) + 126;
  auto const field = static_cast<std::uint32_t>(exponent & ~(exponent >> 31));
  return (2.0f * (1.0f + series)) * std::bit_cast<float>(field << 23);
}

inline double exponential(double x) { return std::exp(x); }

} // namespace mk::reference
