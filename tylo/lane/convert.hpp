#pragma once

/// Conversions by the device's own instructions, in two families.
/// `widen` and `narrow` are the numbers of tylo/numbers.hpp in a few instructions. Narrowing gives the same bits;
/// widening gives the same bits but for NaN, which stays some NaN.
/// All others are single instructions, for fragments: their scalar meaning has the same bits for every argument. What
/// they make of a NaN is the plain NaN: all bits ones but for the sign.
/// PTX ISA: cvt, cvt.pack.

#include <megakernels/tylo/numbers.hpp>
#include <megakernels/tylo/target.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tylo {

TYLO_FN inline float widen(bf16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

TYLO_FN inline float widen(fp16 value) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
#else
  return static_cast<float>(value);
#endif
}

TYLO_FN inline float widen(e4m3 value) {
#if defined(__CUDA_ARCH__)
  std::uint32_t two; // fp16: of the lower byte in the lower half
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(two) : "h"(static_cast<std::uint16_t>(value.bits)));
  return widen(fp16::from_bits(static_cast<std::uint16_t>(two)));
#else
  return static_cast<float>(value);
#endif
}

/// e5m2 is the upper byte of fp16.
TYLO_FN inline float widen(e5m2 value) { return widen(fp16::from_bits(static_cast<std::uint16_t>(value.bits << 8))); }

#if defined(__CUDA_ARCH__)
namespace detail {
/// `bits`, or the NaN of numbers.hpp where `value` is NaN; `Sign` is the place of the sign.
template <int Sign, std::uint32_t QuietNan> TYLO_FN std::uint32_t with_own_nan(float value, std::uint32_t bits) {
  return value == value ? bits : std::bit_cast<std::uint32_t>(value) >> 31 << Sign | QuietNan;
}
} // namespace detail
#endif

template <class T> TYLO_FN T narrow(float value);

template <> TYLO_FN inline bf16 narrow<bf16>(float value) {
#if defined(__CUDA_ARCH__)
  std::uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bf16::from_bits(
      static_cast<std::uint16_t>(detail::with_own_nan<15, detail::bf16_format.quiet_nan>(value, bits)));
#else
  return bf16(value);
#endif
}

template <> TYLO_FN inline fp16 narrow<fp16>(float value) {
#if defined(__CUDA_ARCH__)
  std::uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return fp16::from_bits(
      static_cast<std::uint16_t>(detail::with_own_nan<15, detail::fp16_format.quiet_nan>(value, bits)));
#else
  return fp16(value);
#endif
}

template <> TYLO_FN inline e4m3 narrow<e4m3>(float value) {
#if defined(__CUDA_ARCH__)
  std::uint16_t two;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(two) : "f"(0.0f), "f"(value));
  return e4m3::from_bits(static_cast<std::uint8_t>(detail::with_own_nan<7, detail::e4m3_format.quiet_nan>(value, two)));
#else
  return e4m3(value);
#endif
}

template <> TYLO_FN inline e5m2 narrow<e5m2>(float value) {
#if defined(__CUDA_ARCH__)
  std::uint16_t two;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(two) : "f"(0.0f), "f"(value));
  return e5m2::from_bits(static_cast<std::uint8_t>(detail::with_own_nan<7, detail::e5m2_format.quiet_nan>(value, two)));
#else
  return e5m2(value);
#endif
}

/// Bits of the plain NaN of a small type.
template <class T> inline constexpr std::uint32_t plain_nan = sizeof(T) == 2 ? 0x7FFF : 0x7F;

/// Bits of two numbers in bf16, fp16, e4m3 or e5m2, `low` in the lower half; of NaN, the plain NaN. Of 8-bit types the
/// upper 16 bits are zero. PTX: cvt.rn.bf16x2.f32, cvt.rn.f16x2.f32, cvt.rn.satfinite.e4m3x2.f32,
/// cvt.rn.satfinite.e5m2x2.f32.
template <class T> TYLO_FN std::uint32_t narrow_pair(float low, float high) {
#if defined(__CUDA_ARCH__)
  std::uint32_t bits;
  if constexpr (std::is_same_v<T, bf16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  } else if constexpr (std::is_same_v<T, fp16>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  } else {
    std::uint16_t two;
    if constexpr (std::is_same_v<T, e4m3>)
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(two) : "f"(high), "f"(low));
    else
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(two) : "f"(high), "f"(low));
    bits = two;
  }
  return bits;
#else
  auto const bits = [](float value) { return value == value ? std::uint32_t{T(value).bits} : plain_nan<T>; };
  return bits(low) | bits(high) << 8 * sizeof(T);
#endif
}

/// Bits of two numbers of e4m3 or e5m2 in fp16, which holds them exactly; of NaN, the plain NaN.
/// PTX: cvt.rn.f16x2.e4m3x2, cvt.rn.f16x2.e5m2x2.
template <class T> TYLO_FN std::uint32_t widen_pair(std::uint16_t pair) {
#if defined(__CUDA_ARCH__)
  std::uint32_t bits;
  if constexpr (std::is_same_v<T, e4m3>)
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(bits) : "h"(pair));
  else
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(bits) : "h"(pair));
  return bits;
#else
  auto const value = [pair](int shift) {
    return static_cast<float>(T::from_bits(static_cast<std::uint8_t>(pair >> shift)));
  };
  return narrow_pair<fp16>(value(0), value(8));
#endif
}

/// fp32 from fp16; of NaN, the plain NaN. PTX: cvt.f32.f16.
TYLO_FN inline float widen_plain(fp16 value) {
  TYLO_EITHER(return widen(value), auto const wide = widen(value);
              return wide == wide ? wide : std::bit_cast<float>(0x7FFFFFFFu));
}

/// fp64 as fp32 where that is exact; else, of the two fp32 around it, the one with an odd last bit. Rounding that to 22
/// bits or fewer is one rounding. PTX: cvt.rz.f32.f64, and or.
TYLO_FN inline float round_to_odd(double value) {
#if defined(__CUDA_ARCH__)
  auto const inward = __double2float_rz(value);
  return static_cast<double>(inward) == value ? inward : __uint_as_float(__float_as_uint(inward) | 1);
#else
  auto const near = static_cast<float>(value);
  auto const back = static_cast<double>(near);
  if (back == value || value != value) return near;
  auto const bits = std::bit_cast<std::uint32_t>(near);
  return std::bit_cast<float>((std::abs(back) > std::abs(value) ? bits - 1 : bits) | 1);
#endif
}

/// The nearest int32 or uint32 to fp32 or fp64, the even one of two; saturating; of NaN, 0.
/// PTX: cvt.rni.s32.f32 and the like.
template <class I, class F> TYLO_FN I nearest_integer(F value) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<F, float>)
    return std::is_signed_v<I> ? static_cast<I>(__float2int_rn(value)) : static_cast<I>(__float2uint_rn(value));
  else if (value != value)
    return 0; // where the instructions for fp64 give 2^31
  else
    return std::is_signed_v<I> ? static_cast<I>(__double2int_rn(value)) : static_cast<I>(__double2uint_rn(value));
#else
  constexpr auto least = std::numeric_limits<I>::min(), most = std::numeric_limits<I>::max();
  auto const wide = static_cast<double>(value);
  if (wide != wide) return 0;
  if (wide <= least) return least;
  return wide >= most ? most : static_cast<I>(std::nearbyint(wide));
#endif
}

/// Two numbers in int8 or uint8, saturating, `low` in the lowest byte; the lower half of `above` over both.
/// PTX: cvt.pack.sat.s8.s32.b32, cvt.pack.sat.u8.s32.b32.
template <class I> TYLO_FN std::uint32_t saturate_pair(std::int32_t low, std::int32_t high, std::uint32_t above) {
#if defined(__CUDA_ARCH__)
  std::uint32_t bits;
  if constexpr (std::is_signed_v<I>)
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(bits) : "r"(high), "r"(low), "r"(above));
  else
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(bits) : "r"(high), "r"(low), "r"(above));
  return bits;
#else
  auto const byte = [](std::int32_t value) -> std::uint32_t {
    constexpr std::int32_t least = std::numeric_limits<I>::min(), most = std::numeric_limits<I>::max();
    return static_cast<std::uint8_t>(value < least ? least : value > most ? most : value);
  };
  return byte(low) | byte(high) << 8 | above << 16;
#endif
}

} // namespace tylo
