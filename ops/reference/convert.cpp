#include <megakernels/ops/reference/convert.hpp>
#include <megakernels/ops/reference/lanes.hpp>

#include <algorithm>

namespace mk::reference {
namespace {

template <class T> inline constexpr auto size_of = static_cast<std::int64_t>(sizeof(T));

template <class T, machine M, int N> MK_INLINE void widen_all(std::byte const* from, std::int64_t count, float* to) {
  lanes<float, N> v;
  std::int64_t i = 0;
  for (; i + N <= count; i += N) {
    widen<T, M, N>(from + i * size_of<T>, v);
    store(v, to + i);
  }
  if (i == count) return;
  std::byte rest[N * sizeof(T)] = {};
  std::memcpy(rest, from + i * size_of<T>, static_cast<std::size_t>((count - i) * size_of<T>));
  widen<T, M, N>(rest, v);
  float numbers[N];
  store(v, numbers);
  std::copy_n(numbers, count - i, to + i);
}

template <machine M, int N>
MK_INLINE void widen_any(tylo::data_type type, std::byte const* from, std::int64_t count, float* to) {
  switch (type) {
  case tylo::data_type::bf16:
    return widen_all<tylo::bf16, M, N>(from, count, to);
  case tylo::data_type::fp16:
    return widen_all<tylo::fp16, M, N>(from, count, to);
  case tylo::data_type::e4m3:
    return widen_all<tylo::e4m3, M, N>(from, count, to);
  case tylo::data_type::e5m2:
    return widen_all<tylo::e5m2, M, N>(from, count, to);
  case tylo::data_type::int8:
    return widen_all<std::int8_t, M, N>(from, count, to);
  default:
    return widen_all<float, M, N>(from, count, to);
  }
}

/// NaNs become the quiet NaN, with their sign.
template <int N> MK_INLINE void quiet(lanes<std::uint32_t, N>& bits) {
  using words = lanes<std::uint32_t, N>;
  auto const is_nan = reinterpret_cast<words>((bits & 0x7FFFFFFFu) > 0x7F800000u);
  bits = (~is_nan & bits) | (is_nan & ((bits & 0x80000000u) | 0x7FC00000u));
}

template <machine M, int N> MK_INLINE void narrow_lanes(tylo::bf16, lanes<float, N> const& from, std::byte* to) {
  lanes<std::uint32_t, N> bits;
  load(&from, bits);
  quiet<N>(bits);
  bits = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  store(__builtin_convertvector(bits, lanes<std::uint16_t, N>), to);
}

#if MK_MACHINES
template <machine M, int N> MK_INLINE void narrow_lanes(tylo::fp16, lanes<float, N> const& from, std::byte* to) {
  lanes<std::uint32_t, N> bits;
  load(&from, bits);
  quiet<N>(bits);
  lanes<std::uint16_t, N> half;
  asm("vcvtps2ph $0, %1, %0" : "=v"(half) : "v"(bits)); // 0: to nearest even
  store(half, to);
}
#endif

template <class T, machine M, int N> MK_INLINE void narrow_all(float const* from, std::int64_t count, std::byte* to) {
  lanes<float, N> v;
  std::int64_t i = 0;
  for (; i + N <= count; i += N) {
    load(from + i, v);
    narrow_lanes<M, N>(T{}, v, to + i * size_of<T>);
  }
  if (i == count) return;
  float numbers[N] = {};
  std::copy_n(from + i, count - i, numbers);
  load(numbers, v);
  std::byte rest[N * sizeof(T)];
  narrow_lanes<M, N>(T{}, v, rest);
  std::memcpy(to + i * size_of<T>, rest, static_cast<std::size_t>((count - i) * size_of<T>));
}

template <class T> void narrow_each(float const* from, std::int64_t count, std::byte* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    T const element(from[i]);
    std::memcpy(to + i * size_of<T>, &element, sizeof element);
  }
}

#if MK_MACHINES
MK_TARGET_AVX2 void widen_avx2(tylo::data_type type, std::byte const* from, std::int64_t count, float* to) {
  widen_any<machine::avx2, 8>(type, from, count, to);
}
MK_TARGET_AVX512 void widen_avx512(tylo::data_type type, std::byte const* from, std::int64_t count, float* to) {
  widen_any<machine::avx512, 16>(type, from, count, to);
}
MK_TARGET_AVX2 void narrow_bf16_avx2(float const* from, std::int64_t count, std::byte* to) {
  narrow_all<tylo::bf16, machine::avx2, 8>(from, count, to);
}
MK_TARGET_AVX2 void narrow_fp16_avx2(float const* from, std::int64_t count, std::byte* to) {
  narrow_all<tylo::fp16, machine::avx2, 8>(from, count, to);
}
#endif

} // namespace

void widen_row(tylo::data_type type, std::byte const* from, std::int64_t count, float* to, [[maybe_unused]] machine m) {
#if MK_MACHINES
  if (m == machine::avx512) return widen_avx512(type, from, count, to);
  if (m == machine::avx2) return widen_avx2(type, from, count, to);
#endif
  widen_any<machine::baseline, 8>(type, from, count, to);
}

void narrow_row(tylo::data_type type, float const* from, std::int64_t count, std::byte* to,
                [[maybe_unused]] machine m) {
  switch (type) {
  case tylo::data_type::bf16:
#if MK_MACHINES
    if (m != machine::baseline) return narrow_bf16_avx2(from, count, to);
#endif
    return narrow_all<tylo::bf16, machine::baseline, 8>(from, count, to);
  case tylo::data_type::fp16:
#if MK_MACHINES
    if (m != machine::baseline) return narrow_fp16_avx2(from, count, to);
#endif
    return narrow_each<tylo::fp16>(from, count, to);
  case tylo::data_type::e4m3:
    return narrow_each<tylo::e4m3>(from, count, to);
  case tylo::data_type::e5m2:
    return narrow_each<tylo::e5m2>(from, count, to);
  default:
    if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
  }
}

} // namespace mk::reference
