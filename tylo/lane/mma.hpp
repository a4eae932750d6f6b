#pragma once

/// Products of a warp: 16 x 8 x 16, bf16 or fp16 in, fp32 sums, all in registers, and the loads and stores of 8 x 8
/// matrices that go with them. PTX ISA: mma.sync.m16n8k16, ldmatrix (sm_80), stmatrix (sm_90).
///
/// Which lane holds what, in words: a register holds two neighbours of 16 bits, the first in the lower half. With
/// g = lane / 4 and t = lane % 4,
///
///     a[0] is A(g, 2t), A(g, 2t + 1)        a[1] the same 8 rows below
///     a[2], a[3] the same 8 columns on      b[0] is B(2t, g), B(2t + 1, g); b[1] the same 8 rows below
///     sums[0], sums[1] are C(g, 2t), C(g, 2t + 1); sums[2], sums[3] the same 8 rows below

#include <megakernels/tylo/emulator/lane.hpp>
#include <megakernels/tylo/numbers.hpp>
#include <megakernels/tylo/site.hpp>
#include <megakernels/tylo/target.hpp>

#include <cstdint>
#include <type_traits>

namespace tylo {

namespace detail {
/// The emulator's name of an element type.
template <class T> constexpr emulator::factor_type factor_type_of() {
  static_assert(std::is_same_v<T, bf16> || std::is_same_v<T, fp16>, "factors are bf16 or fp16");
  return std::is_same_v<T, bf16> ? emulator::factor_type::bf16 : emulator::factor_type::fp16;
}
} // namespace detail

/// Scalar meaning: for m below 16, n below 8:
///     C(m, n) = C(m, n) + A(m, 0) * B(0, n) + ... + A(m, 15) * B(15, n)
/// where products are exact and the order and rounding of the sums are the tensor core's own: exact as long as all
/// partial sums are whole numbers below 2^24. All lanes take part.
template <class T>
TYLO_FN void mma(float (&sums)[4], std::uint32_t const (&a)[4], std::uint32_t const (&b)[2], site at = site::here()) {
#if defined(__CUDA_ARCH__)
  static_assert(std::is_same_v<T, bf16> || std::is_same_v<T, fp16>, "factors are bf16 or fp16");
  if constexpr (std::is_same_v<T, bf16>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  emulator::mma(sums, a, b, detail::factor_type_of<T>(), at);
#endif
}

/// Scalar meaning: `mma<T>(sums[r][c], a[r][d], b[c][d])` for every r, c and d; each of `sums` in order of d.
template <class T, unsigned Rows, unsigned Columns, unsigned Depth>
TYLO_FN void mma_tiles(float (&sums)[Rows][Columns][4], std::uint32_t const (&a)[Rows][Depth][4],
                       std::uint32_t const (&b)[Columns][Depth][2], site at = site::here()) {
#if defined(__CUDA_ARCH__)
#pragma unroll
  for (unsigned d = 0; d < Depth; ++d)
#pragma unroll
    for (unsigned r = 0; r < Rows; ++r)
#pragma unroll
      for (unsigned c = 0; c < Columns; ++c) mma<T>(sums[r][c], a[r][d], b[c][d], at);
#else
  emulator::mma_tiles(sums[0][0], a[0][0], b[0][0], Rows, Columns, Depth, detail::factor_type_of<T>(), at);
#endif
}

/// Loads 1, 2 or 4 matrices of 8 x 8 elements of 16 bits from shared memory. Lanes 8 i to 8 i + 7 give the addresses of
/// the rows of matrix i, each 16 bytes at a multiple of 16; the other lanes' addresses are not looked at.
/// Scalar meaning: `to[i]` becomes M_i(g, 2t), M_i(g, 2t + 1), with g = lane / 4 and t = lane % 4; where `Transposed`,
/// M_i(2t, g), M_i(2t + 1, g). All lanes take part.
template <bool Transposed = false, unsigned Count>
TYLO_FN void load_matrices(std::uint32_t (&to)[Count], void const* row, site at = site::here()) {
  static_assert(Count == 1 || Count == 2 || Count == 4);
#if defined(__CUDA_ARCH__)
  auto const from = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (Count == 1 && !Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(to[0]) : "r"(from) : "memory");
  else if constexpr (Count == 1)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(to[0]) : "r"(from) : "memory");
  else if constexpr (Count == 2 && !Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(from)
                 : "memory");
  else if constexpr (Count == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(from)
                 : "memory");
  else if constexpr (!Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
#else
  emulator::load_matrices(to, row, Count, Transposed, at);
#endif
}

/// The way back of `load_matrices`, with the same owners of rows and elements. sm_90.
template <bool Transposed = false, unsigned Count>
TYLO_FN void store_matrices(void* row, std::uint32_t const (&from)[Count], site at = site::here()) {
  static_assert(Count == 1 || Count == 2 || Count == 4);
#if defined(__CUDA_ARCH__)
  auto const to = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (Count == 1 && !Transposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(from[0]) : "memory");
  else if constexpr (Count == 1)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(to), "r"(from[0]) : "memory");
  else if constexpr (Count == 2 && !Transposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(from[0]), "r"(from[1])
                 : "memory");
  else if constexpr (Count == 2)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(from[0]), "r"(from[1])
                 : "memory");
  else if constexpr (!Transposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(from[0]),
                 "r"(from[1]), "r"(from[2]), "r"(from[3])
                 : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(from[0]),
                 "r"(from[1]), "r"(from[2]), "r"(from[3])
                 : "memory");
#else
  emulator::store_matrices(row, from, Count, Transposed, at);
#endif
}

} // namespace tylo
