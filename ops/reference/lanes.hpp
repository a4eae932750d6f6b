#pragma once

/// Vectors of numbers for the inner loops of references, written with the vector types that GCC and Clang share: they
/// compile for any machine, in registers as wide as that machine has, and give the same bits on all of them. Functions
/// here are inlined by force, so that they take the instruction set of the function they end up in (see machine.hpp);
/// vectors go by reference, because how they are passed by value depends on the instruction set.

#include <megakernels/ops/reference/machine.hpp>
#include <megakernels/tylo/numbers.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define MK_INLINE __attribute__((always_inline)) inline
/// Before a loop with a constant count whose body indexes an array of vectors: unrolled, the array lives in registers.
#if defined(__clang__)
#define MK_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MK_UNROLL _Pragma("GCC unroll 32")
#endif

namespace mk::reference {

/// Vectors of N elements.
template <class T, int N> struct lanes_of {
  typedef T type __attribute__((vector_size(static_cast<int>(sizeof(T)) * N)));
};
template <class T, int N> using lanes = typename lanes_of<T, N>::type;

template <class Lanes> MK_INLINE void load(void const* from, Lanes& to) { std::memcpy(&to, from, sizeof to); }
template <class Lanes> MK_INLINE void store(Lanes const& from, void* to) { std::memcpy(to, &from, sizeof from); }

/// All N elements equal to `value`.
template <class T, int N> MK_INLINE void fill(T value, lanes<T, N>& to) { to = lanes<T, N>{} + value; }

/// fp32 bits from fp16 bits (without sign) that were shifted by 13: the exponent is moved from one bias to the other.
/// A subnormal becomes right by an exact fp32 subtraction: no fp32 subnormal is ever an operand.
template <int N> MK_INLINE void rebias(lanes<std::uint32_t, N> const& shifted, lanes<std::uint32_t, N>& to) {
  using words = lanes<std::uint32_t, N>;
  constexpr std::uint32_t bias = 127 - 15;
  words const normal = shifted + (bias << 23);
  words const raised = shifted + ((bias + 1) << 23);
  words unit;
  fill<std::uint32_t, N>((bias + 1) << 23, unit);
  lanes<float, N> a, b;
  load(&raised, a);
  load(&unit, b);
  a -= b;
  words subnormal;
  load(&a, subnormal);
  auto const small = reinterpret_cast<words>(shifted < 0x00800000u);
  auto const special = reinterpret_cast<words>(shifted >= 0x0F800000u); // infinity or NaN
  to = (small & subnormal) | (~small & normal) | (special & 0x7F800000u);
}

/// Elements to wider integers with the same values. The instructions are spelled out where there are any, because
/// GCC 12 goes through halves, or through scalars where the width grows fourfold.
template <machine M, int N> MK_INLINE void extend(lanes<std::uint8_t, N> const& from, lanes<std::uint16_t, N>& to) {
#if MK_MACHINES
  if constexpr (M != machine::baseline) {
    asm("vpmovzxbw %1, %0" : "=v"(to) : "vm"(from));
    return;
  }
#endif
  to = __builtin_convertvector(from, lanes<std::uint16_t, N>);
}

template <machine M, int N> MK_INLINE void extend(lanes<std::uint16_t, N> const& from, lanes<std::uint32_t, N>& to) {
#if MK_MACHINES
  if constexpr (M != machine::baseline) {
    asm("vpmovzxwd %1, %0" : "=v"(to) : "vm"(from));
    return;
  }
#endif
  to = __builtin_convertvector(from, lanes<std::uint32_t, N>);
}

template <machine M, int N> MK_INLINE void extend(lanes<std::int8_t, N> const& from, lanes<std::int32_t, N>& to) {
#if MK_MACHINES
  if constexpr (M != machine::baseline) {
    asm("vpmovsxbd %1, %0" : "=v"(to) : "vm"(from));
    return;
  }
#endif
  to = __builtin_convertvector(__builtin_convertvector(from, lanes<std::int16_t, N>), lanes<std::int32_t, N>);
}

/// fp16 bits as fp32, exactly.
template <machine M, int N> MK_INLINE void from_fp16(lanes<std::uint16_t, N> const& half, lanes<float, N>& to) {
#if MK_MACHINES
  if constexpr (M != machine::baseline) {
    asm("vcvtph2ps %1, %0" : "=v"(to) : "vm"(half));
    return;
  }
#endif
  lanes<std::uint32_t, N> bits, result;
  extend<M, N>(half, bits);
  rebias<N>((bits & 0x7FFFu) << 13, result);
  result |= (bits & 0x8000u) << 16;
  load(&result, to);
}

/// N elements of type T at `from` as fp32, exactly. M: the level for which the caller is compiled.
template <class T, machine M, int N> MK_INLINE void widen(std::byte const* from, lanes<float, N>& to) {
  if constexpr (std::is_same_v<T, float>) {
    load(from, to);
  } else if constexpr (std::is_same_v<T, std::int8_t>) {
    lanes<std::int8_t, N> raw;
    load(from, raw);
    lanes<std::int32_t, N> integers;
    extend<M, N>(raw, integers);
    to = __builtin_convertvector(integers, lanes<float, N>);
  } else if constexpr (std::is_same_v<T, tylo::bf16>) {
    lanes<std::uint16_t, N> raw;
    load(from, raw);
    lanes<std::uint32_t, N> bits;
    extend<M, N>(raw, bits);
    bits <<= 16;
    load(&bits, to);
  } else if constexpr (std::is_same_v<T, tylo::fp16>) {
    lanes<std::uint16_t, N> raw;
    load(from, raw);
    from_fp16<M, N>(raw, to);
  } else {
    lanes<std::uint8_t, N> raw;
    load(from, raw);
    lanes<std::uint16_t, N> bits;
    extend<M, N>(raw, bits);
    if constexpr (std::is_same_v<T, tylo::e5m2>) {
      bits <<= 8;
      from_fp16<M, N>(bits, to);
    } else {
      static_assert(std::is_same_v<T, tylo::e4m3>);
      // As fp16 with the same mantissa, 2^8 too small; the code of NaN becomes one of fp16.
      auto const magnitude = bits & 0x7F;
      auto const nan = reinterpret_cast<lanes<std::uint16_t, N>>(magnitude == 0x7F) & 0x7C00;
      bits = ((bits & 0x80) << 8) | (magnitude << 7) | nan;
      from_fp16<M, N>(bits, to);
      to *= 256.0f;
    }
  }
}

} // namespace mk::reference
