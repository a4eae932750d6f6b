#pragma once

/// The 16- and 8-bit floating-point element types: bits and conversions to and from fp32. Plain C++, the same on every
/// compiler and device. Conversions round once, to nearest even. bf16 and fp16 overflow to infinity; the fp8 types
/// saturate at their largest finite value and keep NaN, as PTX `cvt.rn.satfinite` does.
/// Sources: IEEE 754-2019 (binary16), OCP 8-bit Floating Point Specification 1.0, PTX ISA `cvt`.

#include <megakernels/tylo/data_type.hpp>
#include <megakernels/tylo/target.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace tylo {

namespace detail {

/// Shape of a small binary floating-point format with one sign bit.
struct float_format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;       ///< the all-ones exponent is kept for infinity and NaN
  bool saturates;          ///< values over the largest finite one become that one
  std::uint32_t largest;   ///< bits of the largest finite value, without sign
  std::uint32_t quiet_nan; ///< bits of the NaN that conversions give

  TYLO_FN constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

inline constexpr float_format bf16_format{8, 7, true, false, 0x7F7F, 0x7FC0};
inline constexpr float_format fp16_format{5, 10, true, false, 0x7BFF, 0x7E00};
inline constexpr float_format e4m3_format{4, 3, false, true, 0x7E, 0x7F};
inline constexpr float_format e5m2_format{5, 2, true, true, 0x7B, 0x7F};

/// Bits of `value` in a small format: nearest even, one rounding.
template <float_format const& Format> TYLO_FN constexpr std::uint32_t encode(float value) {
  auto const bits = std::bit_cast<std::uint32_t>(value);
  constexpr int sign_shift = 31 - Format.exponent_bits - Format.mantissa_bits;
  std::uint32_t const sign = (bits & 0x80000000u) >> sign_shift;
  std::uint32_t const magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return sign | Format.quiet_nan;

  constexpr int dropped = 23 - Format.mantissa_bits;
  int const exponent = static_cast<int>(magnitude >> 23) - 127 + Format.bias(); // in the target's encoding
  std::uint32_t significand = (magnitude & 0x7FFFFFu);
  std::uint32_t rounded = 0;
  if (exponent >= 1) {
    std::uint32_t const wide = (static_cast<std::uint32_t>(exponent) << 23) | significand;
    rounded = (wide + ((1u << (dropped - 1)) - 1u) + ((wide >> dropped) & 1u)) >> dropped;
  } else {
    // Subnormal in the target. fp32 subnormals keep their own exponent of 1 and have no hidden bit.
    bool const normal = (magnitude >> 23) != 0;
    if (normal) significand |= 0x800000u;
    int const shift = dropped + 1 - exponent - (normal ? 0 : 1);
    if (shift > 25) return sign;
    std::uint32_t const half = (1u << (shift - 1)) - 1u;
    rounded = (significand + half + ((significand >> shift) & 1u)) >> shift;
  }
  constexpr std::uint32_t infinity = ((1u << Format.exponent_bits) - 1u) << Format.mantissa_bits;
  if (rounded > Format.largest || magnitude == 0x7F800000u || exponent >= (1 << Format.exponent_bits))
    return sign | (Format.saturates ? Format.largest : infinity);
  return sign | rounded;
}

/// Exact value of small-format bits.
template <float_format const& Format> TYLO_FN constexpr float decode(std::uint32_t bits) {
  constexpr int total = Format.exponent_bits + Format.mantissa_bits;
  constexpr int widen = 23 - Format.mantissa_bits;
  std::uint32_t const sign = (bits >> total) << 31;
  std::uint32_t const mantissa = bits & ((1u << Format.mantissa_bits) - 1u);
  std::uint32_t const exponent = (bits >> Format.mantissa_bits) & ((1u << Format.exponent_bits) - 1u);
  constexpr std::uint32_t ones = (1u << Format.exponent_bits) - 1u;
  if (Format.has_infinity && exponent == ones) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << widen));
  if (!Format.has_infinity && (bits & ((1u << total) - 1u)) == Format.quiet_nan)
    return std::bit_cast<float>(sign | 0x7FC00000u);
  if (exponent == 0) {
    if constexpr (Format.exponent_bits == 8) return std::bit_cast<float>(sign | (mantissa << widen));
    // value = mantissa * 2^(1 - bias - mantissa_bits), exact in fp32
    float const unit =
        std::bit_cast<float>(static_cast<std::uint32_t>(128 - Format.bias() - Format.mantissa_bits) << 23);
    float const value = static_cast<float>(mantissa) * unit;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  auto const wide = static_cast<std::uint32_t>(static_cast<int>(exponent) - Format.bias() + 127);
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << widen));
}

/// A small floating-point value: its bits, explicit conversion both ways, and nothing else.
template <class Bits, float_format const& Format> struct small_float {
  Bits bits = 0;

  small_float() = default;
  TYLO_FN constexpr explicit small_float(float value) : bits(static_cast<Bits>(encode<Format>(value))) {}
  TYLO_FN constexpr explicit operator float() const { return decode<Format>(bits); }
  TYLO_FN static constexpr small_float from_bits(Bits bits) {
    small_float result;
    result.bits = bits;
    return result;
  }
};

} // namespace detail

using bf16 = detail::small_float<std::uint16_t, detail::bf16_format>;
using fp16 = detail::small_float<std::uint16_t, detail::fp16_format>;
using e4m3 = detail::small_float<std::uint8_t, detail::e4m3_format>;
using e5m2 = detail::small_float<std::uint8_t, detail::e5m2_format>;

/// int8 from fp32: nearest even, saturating, NaN to 0 (PTX `cvt.rni.sat.s8.f32`).
TYLO_FN constexpr std::int8_t to_int8(float value) {
  if (!(value == value)) return 0;
  if (value >= 127.0f) return 127;
  if (value <= -128.0f) return -128;
  float const magic = 12582912.0f; // 1.5 * 2^23: adding it leaves the nearest-even integer in the low bits
  return static_cast<std::int8_t>(static_cast<std::int32_t>((value + magic) - magic));
}

/// int8 from int32, saturating.
TYLO_FN constexpr std::int8_t to_int8(std::int32_t value) {
  return static_cast<std::int8_t>(value > 127 ? 127 : value < -128 ? -128 : value);
}

/// The C++ type of a run-time element type: calls `f` with a value-initialised object of it.
template <class F> constexpr decltype(auto) with_type(data_type type, F&& f) {
  switch (type) {
  case data_type::bf16:
    return f(bf16{});
  case data_type::fp16:
    return f(fp16{});
  case data_type::e4m3:
    return f(e4m3{});
  case data_type::e5m2:
    return f(e5m2{});
  case data_type::int8:
    return f(std::int8_t{});
  case data_type::int32:
    return f(std::int32_t{});
  default:
    return f(float{});
  }
}

/// The run-time value of an element type.
template <class T>
inline constexpr data_type data_type_of = [] {
  if constexpr (std::is_same_v<T, float>)
    return data_type::fp32;
  else if constexpr (std::is_same_v<T, bf16>)
    return data_type::bf16;
  else if constexpr (std::is_same_v<T, fp16>)
    return data_type::fp16;
  else if constexpr (std::is_same_v<T, e4m3>)
    return data_type::e4m3;
  else if constexpr (std::is_same_v<T, e5m2>)
    return data_type::e5m2;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return data_type::int8;
  else {
    static_assert(std::is_same_v<T, std::int32_t>, "not an element type of tensors");
    return data_type::int32;
  }
}();

} // namespace tylo
