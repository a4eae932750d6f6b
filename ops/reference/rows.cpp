#include <megakernels/ops/reference/rows.hpp>
#include <megakernels/tylo/numbers.hpp>

#include <bit>
#include <cmath>
#include <cstring>

namespace mk::reference {
namespace {

/// fp32 from double such that a later rounding to a narrower format equals one rounding of the double: round to odd.
float narrow(double value) {
  float const nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !std::isfinite(nearest) || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  bool const away = std::abs(static_cast<double>(nearest)) > std::abs(value);
  if (away) --bits; // now truncated towards zero
  return std::bit_cast<float>(bits | 1u);
}

float narrow(float value) { return value; }

template <class T, class Accumulate> T element_from(Accumulate value) {
  if constexpr (std::is_same_v<T, float>)
    return static_cast<float>(value);
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return tylo::to_int8(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, std::int32_t>) {
    double const wide = static_cast<double>(value);
    if (!(wide == wide)) return 0;
    return static_cast<std::int32_t>(std::nearbyint(std::fmin(std::fmax(wide, -2147483648.0), 2147483647.0)));
  } else
    return T(narrow(value));
}

/// Conversions without branches, for loops that the compiler vectorises; the values are those of numbers.hpp.
float widen(tylo::bf16 element) { return std::bit_cast<float>(static_cast<std::uint32_t>(element.bits) << 16); }

float widen(tylo::fp16 element) {
  std::uint32_t const magnitude = element.bits & 0x7FFFu;
  float const scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  std::uint32_t const special = magnitude >= 0x7C00u ? 0x7F800000u : 0u;
  std::uint32_t const sign = static_cast<std::uint32_t>(element.bits & 0x8000u) << 16;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

/// The fp8 types.
template <class T> float widen(T element) {
  static constexpr auto values = [] {
    std::array<float, 256> result{};
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = static_cast<float>(T::from_bits(static_cast<std::uint8_t>(i)));
    return result;
  }();
  return values[element.bits];
}

template <class Accumulate, class T> Accumulate number_from(T element) {
  if constexpr (std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int8_t> || std::is_same_v<T, float>)
    return static_cast<Accumulate>(element);
  else
    return static_cast<Accumulate>(widen(element));
}

template <class T> T element_at(std::byte const* from) {
  T element;
  std::memcpy(&element, from, sizeof element);
  return element;
}

/// In steps of fixed length, which the compiler vectorises.
template <class T, class Accumulate> void load_contiguous(std::byte const* from, std::int64_t count, Accumulate* to) {
  constexpr std::int64_t step = 16;
  std::int64_t i = 0;
  for (; i + step <= count; i += step) {
    T elements[step];
    std::memcpy(elements, from + i * static_cast<std::int64_t>(sizeof(T)), sizeof elements);
    for (std::int64_t j = 0; j < step; ++j) to[i + j] = number_from<Accumulate>(elements[j]);
  }
  for (; i < count; ++i)
    to[i] = number_from<Accumulate>(element_at<T>(from + i * static_cast<std::int64_t>(sizeof(T))));
}

} // namespace

template <class Accumulate>
void load_row(data_type type, std::byte const* from, std::int64_t stride, std::span<Accumulate> to) {
  tylo::with_type(type, [&]<class T>(T) {
    auto const count = static_cast<std::int64_t>(to.size());
    if (stride == 1)
      load_contiguous<T>(from, count, to.data());
    else
      for (std::int64_t i = 0; i < count; ++i)
        to[static_cast<std::size_t>(i)] =
            number_from<Accumulate>(element_at<T>(from + i * stride * static_cast<std::int64_t>(sizeof(T))));
  });
}

template <class Accumulate>
void store_row(data_type type, std::byte* to, std::int64_t stride, std::span<Accumulate const> from) {
  tylo::with_type(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      T const element = element_from<T>(from[i]);
      std::memcpy(to + static_cast<std::int64_t>(i) * stride * static_cast<std::int64_t>(sizeof(T)), &element,
                  sizeof element);
    }
  });
}

template void load_row<float>(data_type, std::byte const*, std::int64_t, std::span<float>);
template void load_row<double>(data_type, std::byte const*, std::int64_t, std::span<double>);
template void store_row<float>(data_type, std::byte*, std::int64_t, std::span<float const>);
template void store_row<double>(data_type, std::byte*, std::int64_t, std::span<double const>);

} // namespace mk::reference
