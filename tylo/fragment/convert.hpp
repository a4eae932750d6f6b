#pragma once

/// Numerical conversion of fragments: every element to another type, the ownership unchanged. Never implicit.
///
///     auto const small = convert<bf16>(scores);
///
/// The rules are the same for a scalar and for fragments of any number of slots, on the GPU and on a CPU:
///
/// | to | from floating types | from integers |
/// |---|---|---|
/// | fp64, fp32 | nearest | nearest |
/// | bf16, fp16 | nearest; overflow to infinity | nearest; overflow to infinity |
/// | e4m3, e5m2 | nearest; saturating, infinity too: largest finite value | nearest; saturating |
/// | int32, uint32, int8, uint8 | nearest; saturating, infinity too; NaN to 0 | saturating |
///
/// Nearest is to even, with one rounding from the source to the target. Zeros keep their sign. NaN becomes the target's
/// plain NaN: all bits ones but for the sign. That is what the GPU's instructions give; tylo/numbers.hpp, for the
/// host's data, keeps the sign instead. Only from bf16 to fp32, where a conversion is a shift, NaN keeps its bits, as
/// it does where nothing is converted. bool is a source too, of 0 and 1.

#include <megakernels/tylo/fragment/fragment.hpp>
#include <megakernels/tylo/lane/convert.hpp>
#include <megakernels/tylo/numbers.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tylo {

namespace detail {

template <class T> inline constexpr bool is_small_float = false;
template <class Bits, float_format const& Format>
inline constexpr bool is_small_float<small_float<Bits, Format>> = true;

template <class T> inline constexpr bool is_byte_float = is_small_float<T> && sizeof(T) == 1;
template <class T>
inline constexpr bool is_byte_integer = std::is_same_v<T, std::int8_t> || std::is_same_v<T, std::uint8_t>;

/// What elements can be converted to.
template <class T>
inline constexpr bool is_number =
    is_small_float<T> || is_byte_integer<T> || std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t>;

/// How many elements a word of 32 bits has.
template <class T> inline constexpr int per_word = 4 / int(sizeof(T));

/// The bits of an element of 8 or 16 bits.
template <class T> TYLO_FN constexpr std::uint32_t bits_of(T value) {
  if constexpr (is_small_float<T>)
    return value.bits;
  else
    return static_cast<std::uint8_t>(value);
}

/// An element of a word; number 0 is the lowest.
template <class T> TYLO_FN constexpr T element_of(std::uint32_t word, int number) {
  word >>= 8 * int(sizeof(T)) * number;
  if constexpr (is_small_float<T>)
    return T::from_bits(static_cast<decltype(T::bits)>(word));
  else
    return static_cast<T>(word);
}

/// fp32 that gives all smaller types what `x` would.
template <class From> TYLO_FN float as_float(From x) {
  if constexpr (std::is_same_v<From, bf16>)
    return widen(x);
  else if constexpr (std::is_same_v<From, fp16>)
    return widen_plain(x);
  else if constexpr (is_byte_float<From>)
    return widen_plain(element_of<fp16>(widen_pair<From>(x.bits), 0));
  else if constexpr (std::is_same_v<From, float> || sizeof(From) == 1)
    return static_cast<float>(x);
  else
    return round_to_odd(static_cast<double>(x));
}

/// Any integer in the range of another integer type.
template <class To, class From> TYLO_FN constexpr To saturated(From x) {
  constexpr std::int64_t least = std::numeric_limits<To>::min(), most = std::numeric_limits<To>::max();
  auto const wide = static_cast<std::int64_t>(x);
  return static_cast<To>(wide < least ? least : wide > most ? most : wide);
}

/// int32 that gives int8 and uint8 what `x` would.
template <class From> TYLO_FN std::int32_t as_int32(From x) {
  if constexpr (std::is_integral_v<From>)
    return saturated<std::int32_t>(x);
  else if constexpr (std::is_same_v<From, double>)
    return nearest_integer<std::int32_t>(x);
  else
    return nearest_integer<std::int32_t>(as_float(x));
}

/// Converts what makes one word of elements of 8 or 16 bits.
template <class To, class From> TYLO_FN std::uint32_t converted_word(From const (&x)[per_word<To>]) {
  if constexpr (is_byte_integer<To>) {
    auto const upper = saturate_pair<To>(as_int32(x[2]), as_int32(x[3]), 0);
    return saturate_pair<To>(as_int32(x[0]), as_int32(x[1]), upper);
  } else if constexpr (std::is_same_v<To, fp16> && is_byte_float<From>) {
    return widen_pair<From>(static_cast<std::uint16_t>(x[0].bits | x[1].bits << 8));
  } else {
    auto const lower = narrow_pair<To>(as_float(x[0]), as_float(x[1]));
    if constexpr (per_word<To> == 2)
      return lower;
    else
      return lower | narrow_pair<To>(as_float(x[2]), as_float(x[3])) << 16;
  }
}

/// fp64 as fp32, or fp32 as fp64.
template <class To, class From> TYLO_FN To other_float(From x) {
  if (x == x) return static_cast<To>(x);
  if constexpr (std::is_same_v<To, float>)
    return std::bit_cast<float>(0x7FFFFFFFu);
  else
    return std::bit_cast<double>(0x7FFFFFFFFFFFFFFFull);
}

/// One sentence about what is wrong, if anything is.
template <class To, class From> constexpr bool check_conversion() {
  static_assert(is_number<To>,
                "tylo: elements are converted to fp64, fp32, bf16, fp16, e4m3, e5m2, int32, uint32, int8 "
                "or uint8, and to nothing else");
  static_assert(is_number<From> || std::is_same_v<From, bool>,
                "tylo: elements are converted from fp64, fp32, bf16, fp16, e4m3, e5m2, int32, uint32, int8, uint8 or "
                "bool, and from nothing else");
  return is_number<To> && (is_number<From> || std::is_same_v<From, bool>);
}

} // namespace detail

/// `x` as another type, by the rules above.
template <class To, class From> TYLO_FN To convert_to(From x) {
  if constexpr (!detail::check_conversion<To, From>()) {
    return To{};
  } else if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (sizeof(To) <= 2) {
    From const alone[detail::per_word<To>] = {x};
    return detail::element_of<To>(detail::converted_word<To>(alone), 0);
  } else if constexpr (detail::is_small_float<From>) {
    return convert_to<To>(detail::as_float(x));
  } else if constexpr (std::is_integral_v<From>) {
    if constexpr (std::is_integral_v<To>)
      return detail::saturated<To>(x);
    else
      return static_cast<To>(x);
  } else if constexpr (std::is_integral_v<To>) {
    return nearest_integer<To>(x);
  } else {
    return detail::other_float<To>(x);
  }
}

/// Every element as another type, by the rules above.
template <class To, class From, ownership O> TYLO_FN fragment<To, O> convert(fragment<From, O> const& f) {
  if constexpr (!detail::check_conversion<To, From>()) {
    return {};
  } else if constexpr (std::is_same_v<To, From>) {
    return f;
  } else if constexpr (detail::is_byte_float<From> && !std::is_same_v<To, fp16>) {
    return convert<To>(convert<fp16>(f)); // two at once, and exact
  } else {
    fragment<To, O> result;
    int s = 0;
    if constexpr (sizeof(To) <= 2) {
      constexpr int together = detail::per_word<To>;
      TYLO_UNROLL for (; s + together <= f.slots; s += together) {
        From group[together];
        TYLO_UNROLL for (int i = 0; i < together; ++i) group[i] = f.data[s + i];
        auto const word = detail::converted_word<To>(group);
        TYLO_UNROLL for (int i = 0; i < together; ++i) result.data[s + i] = detail::element_of<To>(word, i);
      }
    }
    TYLO_UNROLL for (; s < f.slots; ++s) result.data[s] = convert_to<To>(f.data[s]);
    return result;
  }
}

} // namespace tylo
