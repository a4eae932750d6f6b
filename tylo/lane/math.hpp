#pragma once

/// Scalar functions by single instructions of the GPU. PTX ISA: ex2, rcp, fma, max, min.

#include <megakernels/tylo/target.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tylo {

namespace detail {
/// Zero of the same sign where the number is subnormal.
inline float flushed(float value) {
  return std::abs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}
} // namespace detail

/// 2^x to 2 ulp; subnormal arguments and results are zero. PTX: ex2.approx.ftz.f32.
/// Scalar meaning: the nearest fp32 to 2^x.
TYLO_FN inline float exp2_approximate(float x) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return detail::flushed(std::exp2(detail::flushed(x)));
#endif
}

/// 1 / x to 1 ulp; subnormal arguments and results are zero. PTX: rcp.approx.ftz.f32.
/// Scalar meaning: the nearest fp32 to 1 / x.
TYLO_FN inline float reciprocal_approximate(float x) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return detail::flushed(1.0f / detail::flushed(x));
#endif
}

/// a * b, rounded: never one rounding together with a sum. PTX: mul.rn.f32.
TYLO_FN inline float rounded_product(float a, float b) { TYLO_EITHER(return __fmul_rn(a, b), return a * b); }

/// a * b + c with one rounding.
TYLO_FN inline float fused_multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
TYLO_FN inline double fused_multiply_add(double a, double b, double c) { return std::fma(a, b, c); }

/// The larger one; where one is NaN, the other; +0 over -0. Commutative to the bit, but for two NaNs.
/// PTX: max.f32, max.f64.
template <class T> TYLO_FN T larger_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    TYLO_EITHER(return fmax(a, b), if (a == b) return std::signbit(a) ? b : a; return a > b || b != b ? a : b);
  } else
    return a < b ? b : a;
}

/// The smaller one; where one is NaN, the other; -0 under +0. Commutative to the bit, but for two NaNs.
/// PTX: min.f32, min.f64.
template <class T> TYLO_FN T smaller_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    TYLO_EITHER(return fmin(a, b), if (a == b) return std::signbit(a) ? a : b; return a < b || b != b ? a : b);
  } else
    return b < a ? b : a;
}

} // namespace tylo
