#pragma once

/// Conversions of small floating-point types by the device's own instructions: the numbers of tylo/numbers.hpp in a
/// few instructions. Narrowing gives the same bits; widening gives the same bits but for NaN, which stays some NaN.
/// PTX ISA: cvt.

#include <megakernels/tylo/numbers.hpp>
#include <megakernels/tylo/target.hpp>

#include <bit>
#include <cstdint>

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

} // namespace tylo
