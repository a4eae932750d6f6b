#pragma once

/// Packed fragments: elements of 16 or 8 bits in registers of 32 bits, as instructions take them.
///
///     auto const p = pack<bf16>(weights);                 // converts, by the rules of fragment/convert.hpp
///     auto const words = pack(convert<bf16>(weights));    // the same bits: pack alone only moves them
///     auto const back = convert<float>(unpack(p));        // unpack moves bits too
///     auto const same = convert<float>(p);                // the same; of e4m3 and e5m2 in fewer instructions
///
/// 2 elements of 16 bits or 4 of 8 bits make a word: neighbouring slots, the first one in the lowest bits.

#include <megakernels/tylo/fragment/convert.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tylo {

/// The values of the calling thread, packed.
template <class T, ownership O> struct packed_fragment {
  using element = T;
  static constexpr ownership owned = O;
  static constexpr int slots = O.slots();
  static_assert(detail::is_small_float<T> || detail::is_byte_integer<T>,
                "tylo: only elements of 8 or 16 bits are packed: convert them first, or name the type: pack<T>(f)");
  static constexpr int per_word = detail::per_word<T>;
  static_assert(slots % per_word == 0,
                "tylo: a packed fragment has no unfinished word: the slots of a thread must be a "
                "multiple of 2 for elements of 16 bits, of 4 for elements of 8 bits");
  static constexpr int words = slots / per_word;

  std::uint32_t data[words];
};

/// Packs elements as they are, with all their bits.
template <class T, ownership O> TYLO_FN packed_fragment<T, O> pack(fragment<T, O> const& f) {
  packed_fragment<T, O> result;
  constexpr int per_word = packed_fragment<T, O>::per_word;
  TYLO_UNROLL for (int w = 0; w < result.words; ++w) {
    result.data[w] = 0;
    TYLO_UNROLL for (int i = 0; i < per_word; ++i) result.data[w] |= detail::bits_of(f.data[w * per_word + i])
                                                                     << 32 / per_word * i;
  }
  return result;
}

/// Converts to T and packs.
template <class T, class From, ownership O>
  requires(!std::is_same_v<T, From>)
TYLO_FN packed_fragment<T, O> pack(fragment<From, O> const& f) {
  if constexpr (!detail::check_conversion<T, From>()) {
    return {};
  } else if constexpr (detail::is_byte_float<From> && !std::is_same_v<T, fp16>) {
    return pack<T>(convert<fp16>(f)); // as convert does it
  } else {
    packed_fragment<T, O> result;
    constexpr int per_word = packed_fragment<T, O>::per_word;
    TYLO_UNROLL for (int w = 0; w < result.words; ++w) {
      From group[per_word];
      TYLO_UNROLL for (int i = 0; i < per_word; ++i) group[i] = f.data[w * per_word + i];
      result.data[w] = detail::converted_word<T>(group);
    }
    return result;
  }
}

/// The elements of a packed fragment, with all their bits.
template <class T, ownership O> TYLO_FN fragment<T, O> unpack(packed_fragment<T, O> const& p) {
  fragment<T, O> result;
  TYLO_UNROLL for (int s = 0; s < p.slots; ++s) result.data[s] =
      detail::element_of<T>(p.data[s / p.per_word], s % p.per_word);
  return result;
}

/// The elements of a packed fragment as another type.
template <class To, class From, ownership O> TYLO_FN fragment<To, O> convert(packed_fragment<From, O> const& p) {
  if constexpr (detail::is_byte_float<From> && !std::is_same_v<To, From>) {
    fragment<fp16, O> wide;
    TYLO_UNROLL for (int s = 0; s < p.slots; s += 2) {
      auto const pair = widen_pair<From>(static_cast<std::uint16_t>(p.data[s / 4] >> s % 4 * 8));
      TYLO_UNROLL for (int i = 0; i < 2; ++i) wide.data[s + i] = detail::element_of<fp16>(pair, i);
    }
    return convert<To>(wide);
  } else
    return convert<To>(unpack(p));
}

/// Words as a packed fragment: their bits are elements of T.
template <class T, ownership O, std::same_as<std::uint32_t>... Words>
TYLO_FN packed_fragment<T, O> packed_from_words(Words... words) {
  static_assert(sizeof...(Words) == packed_fragment<T, O>::words, "tylo: a packed fragment of another number of words");
  return {{words...}};
}

} // namespace tylo
