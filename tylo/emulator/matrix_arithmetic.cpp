#include <megakernels/tylo/emulator/internal/matrix_arithmetic.hpp>

#include <cstring>

/// A version of a function for processors with wider vectors, which is taken where there are any. Not of those with
/// fused multiplication: all give the same bits.
#if defined(__x86_64__)
#define TYLO_WIDE [[gnu::target_clones("avx2", "default")]]
#else
#define TYLO_WIDE
#endif

namespace tylo::emulator {

using eight [[gnu::vector_size(32)]] = float;

TYLO_WIDE void multiply_add(float* sums, float const* a, float const* b, unsigned columns) {
  constexpr unsigned rows_at_once = 8, width = 8;
  for (unsigned n = 0; n < columns; n += width)
    for (unsigned m = 0; m < matrix_rows; m += rows_at_once) {
      eight s[rows_at_once];
#pragma GCC unroll 8
      for (unsigned i = 0; i < rows_at_once; ++i) std::memcpy(&s[i], sums + (m + i) * columns + n, sizeof s[i]);
      for (unsigned k = 0; k < matrix_depth; ++k) {
        eight factors;
        std::memcpy(&factors, b + k * columns + n, sizeof factors);
#pragma GCC unroll 8
        for (unsigned i = 0; i < rows_at_once; ++i) s[i] += a[(m + i) * matrix_depth + k] * factors;
      }
#pragma GCC unroll 8
      for (unsigned i = 0; i < rows_at_once; ++i) std::memcpy(sums + (m + i) * columns + n, &s[i], sizeof s[i]);
    }
}

} // namespace tylo::emulator
