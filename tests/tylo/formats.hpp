#pragma once

/// The small floating-point formats as their standards describe them, apart from the code under test.

#include <megakernels/tylo/numbers.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace mk::test {

struct format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;
  double largest;
};

template <class T> constexpr format format_of() {
  if constexpr (std::is_same_v<T, tylo::bf16>)
    return {8, 7, true, 0x1.FEp127};
  else if constexpr (std::is_same_v<T, tylo::fp16>)
    return {5, 10, true, 65504};
  else if constexpr (std::is_same_v<T, tylo::e4m3>)
    return {4, 3, false, 448};
  else
    return {5, 2, true, 57344};
}

/// Value of the code by the standard's definition.
inline double value_of(format const& f, std::uint32_t code) {
  std::uint32_t const ones = (1u << f.exponent_bits) - 1, fractions = (1u << f.mantissa_bits) - 1;
  auto const sign = (code >> (f.exponent_bits + f.mantissa_bits)) != 0 ? -1.0 : 1.0;
  auto const exponent = (code >> f.mantissa_bits) & ones;
  auto const fraction = code & fractions;
  int const bias = (1 << (f.exponent_bits - 1)) - 1;
  if (f.has_infinity && exponent == ones)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (!f.has_infinity && exponent == ones && fraction == fractions) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - f.mantissa_bits);
  return sign * std::ldexp(fraction + (1u << f.mantissa_bits), static_cast<int>(exponent) - bias - f.mantissa_bits);
}

} // namespace mk::test
