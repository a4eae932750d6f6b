#pragma once

/// Numbers for tests of conversions: all payloads of small types, all upper halves of larger ones, and what a second
/// rounding would spoil.

#include "formats.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace mk::test {

/// All types that elements are converted to; words are packed of the first six.
using number_types = std::tuple<tylo::bf16, tylo::fp16, tylo::e4m3, tylo::e5m2, std::int8_t, std::uint8_t, float,
                                double, std::int32_t, std::uint32_t>;
inline constexpr std::size_t packed_types = 6;

/// `f` is called with a value of each type.
template <std::size_t Count, class F> void for_each_type(F f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f(std::tuple_element_t<I, number_types>{}), ...);
  }(std::make_index_sequence<Count>{});
}
template <class F> void for_each_number_type(F f) { for_each_type<std::tuple_size_v<number_types>>(f); }
template <class F> void for_each_packed_type(F f) { for_each_type<packed_types>(f); }

template <std::size_t Bytes>
using bits_of_size = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

template <class T> using raw = bits_of_size<sizeof(T)>;
template <class T> raw<T> raw_of(T value) { return std::bit_cast<raw<T>>(value); }
template <class T> std::vector<raw<T>> raw_of(std::vector<T> const& values) {
  std::vector<raw<T>> result(values.size());
  if (!values.empty()) std::memcpy(result.data(), values.data(), values.size() * sizeof(T));
  return result;
}

namespace detail {

/// What lies half-way between neighbours of a format, and the fp64 just beside it.
template <class T> void add_middles(std::vector<double>& to) {
  constexpr auto f = format_of<T>();
  for (std::uint32_t code = 0; value_of(f, code) <= f.largest; ++code) {
    auto const low = value_of(f, code), above = value_of(f, code + 1);
    auto const high = above <= f.largest ? above : 2 * low - value_of(f, code - 1);
    auto const middle = (low + high) / 2; // exact
    for (auto const v : {low, std::nextafter(middle, 0.0), middle, std::nextafter(middle, HUGE_VAL)}) {
      to.push_back(v);
      to.push_back(-v);
    }
  }
}

inline void add_middles_of_integers(std::vector<double>& to) {
  for (double const at : {0.0, 128.0, 256.0, 0x1p31, 0x1p32})
    for (double i = at - 4; i <= at + 4; i += 0.5)
      for (auto const v : {std::nextafter(i, -HUGE_VAL), i, std::nextafter(i, HUGE_VAL)}) {
        to.push_back(v);
        to.push_back(-v);
      }
}

} // namespace detail

/// A multiple of 120 numbers, so that no fragment of 1 to 5 or of 8 slots is cut short.
template <class T> std::vector<T> numbers_to_convert() {
  std::vector<T> result;
  constexpr std::uint64_t uppers = sizeof(T) == 1 ? 256 : 65536;
  constexpr int lower_bits = sizeof(T) < 4 ? 0 : 8 * int(sizeof(T)) - 16;
  constexpr std::uint64_t half = lower_bits == 0 ? 0 : std::uint64_t(1) << (lower_bits - 1);
  std::vector<std::uint64_t> lowers{0};
  if (lower_bits != 0) lowers = {0, 1, half - 1, half, half + 1, 2 * half - 1};
  for (auto const lower : lowers)
    for (std::uint64_t upper = 0; upper < uppers; ++upper)
      result.push_back(std::bit_cast<T>(static_cast<raw<T>>(upper << lower_bits | lower)));
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    std::vector<double> more;
    detail::add_middles<tylo::bf16>(more);
    detail::add_middles<tylo::fp16>(more);
    detail::add_middles<tylo::e4m3>(more);
    detail::add_middles<tylo::e5m2>(more);
    detail::add_middles_of_integers(more);
    for (auto const v : more) result.push_back(static_cast<T>(v));
  }
  while (result.size() % 120 != 0) result.push_back(T{});
  return result;
}

/// Every `step`-th number, a multiple of 120 of them.
template <class T> std::vector<T> thinned(std::vector<T> const& numbers, std::size_t step) {
  std::vector<T> result;
  for (std::size_t i = 0; i < numbers.size(); i += step) result.push_back(numbers[i]);
  while (result.size() % 120 != 0) result.push_back(T{});
  return result;
}

} // namespace mk::test
