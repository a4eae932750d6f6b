#include <megakernels/ops/reference/convert.hpp>
#include <megakernels/ops/reference/rows.hpp>
#include <megakernels/tylo/numbers.hpp>

#include <algorithm>
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
    return tylo::to_int8(narrow(value));
  else if constexpr (std::is_same_v<T, std::int32_t>) {
    double const wide = static_cast<double>(value);
    if (!(wide == wide)) return 0;
    return static_cast<std::int32_t>(std::nearbyint(std::fmin(std::fmax(wide, -2147483648.0), 2147483647.0)));
  } else
    return T(narrow(value));
}

template <class Accumulate, class T> Accumulate number_from(T element) {
  if constexpr (std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int8_t> || std::is_same_v<T, float>)
    return static_cast<Accumulate>(element);
  else
    return static_cast<Accumulate>(static_cast<float>(element));
}

template <class T> T element_at(std::byte const* from) {
  T element;
  std::memcpy(&element, from, sizeof element);
  return element;
}

void load_contiguous(data_type type, std::byte const* from, std::int64_t count, float* to) {
  widen_row(type, from, count, to);
}

void load_contiguous(data_type type, std::byte const* from, std::int64_t count, double* to) {
  constexpr std::int64_t step = 256;
  float numbers[step];
  for (std::int64_t i = 0; i < count; i += step) {
    auto const now = std::min(step, count - i);
    widen_row(type, from + i * bytes_of(type), now, numbers);
    std::copy_n(numbers, now, to + i);
  }
}

} // namespace

template <class Accumulate>
void load_row(data_type type, std::byte const* from, std::int64_t stride, std::span<Accumulate> to) {
  auto const count = static_cast<std::int64_t>(to.size());
  if (stride == 1 && type != data_type::int32) return load_contiguous(type, from, count, to.data());
  tylo::with_type(type, [&]<class T>(T) {
    for (std::int64_t i = 0; i < count; ++i)
      to[static_cast<std::size_t>(i)] =
          number_from<Accumulate>(element_at<T>(from + i * stride * static_cast<std::int64_t>(sizeof(T))));
  });
}

template <class Accumulate>
void store_row(data_type type, std::byte* to, std::int64_t stride, std::span<Accumulate const> from) {
  if constexpr (std::is_same_v<Accumulate, float>)
    if (stride == 1 && is_floating(type))
      return narrow_row(type, from.data(), static_cast<std::int64_t>(from.size()), to);
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
