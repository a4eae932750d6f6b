#pragma once

/// Arithmetic of emulated matrix products.

#include <bit>
#include <cstdint>

namespace tylo::emulator {

inline constexpr unsigned matrix_rows = 16;
inline constexpr unsigned matrix_depth = 16;

/// sums(m, n) += a(m, 0) * b(0, n), then a(m, 1) * b(1, n) and so on to 15, in fp32: products of bf16 or fp16 are
/// exact, each sum is rounded to nearest. All row-major: sums [16, columns], a [16, 16], b [16, columns]; `columns` is
/// a multiple of 8.
void multiply_add(float* sums, float const* a, float const* b, unsigned columns);

inline float float_of_bf16(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }

/// Without branches: the exponent moves by a multiplication, which is exact.
inline float float_of_fp16(std::uint32_t bits) {
  constexpr float two_to_112 = 0x1p112f;
  auto const magnitude = std::bit_cast<float>((bits & 0x7FFFu) << 13) * two_to_112;
  auto const infinite = (bits & 0x7C00u) == 0x7C00u ? 0x7F800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | infinite | (bits & 0x8000u) << 16);
}

} // namespace tylo::emulator
