#pragma once

/// Elements of one floating type for device handlers, many at a time: loads are under way together, and one short run
/// of instructions without branches serves all types, where a case for each would be much code. The values are those of
/// tylo/numbers.hpp.

#include <megakernels/ops/tensor.hpp>
#include <megakernels/tylo/target.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mk::handlers {

class floating_elements {
public:
  /// Of a floating type.
  TYLO_FN explicit floating_elements(data_type type)
      : bytes_(field(type, 0x0101020204)), shift_(field(type, 0x15140D1000)), rebias_(field(type, 0x7078700000) << 23),
        first_special_(field(type, 0x7C7F7C8080) << (8 * bytes_ - 8)), most_(code(type, 0x007B007E7C007F80)),
        nan_(code(type, 0x007F007F7E007FC0)) {}

  TYLO_FN std::int64_t bytes() const { return bytes_; }

  /// to[i] = the element at from[i], exactly.
  template <unsigned Count> TYLO_FN void load(std::byte const* const (&from)[Count], float (&to)[Count]) const {
    std::uint32_t raw[Count];
    if (bytes_ == 2)
      load_raw<std::uint16_t>(from, raw);
    else if (bytes_ == 4)
      load_raw<float>(from, raw);
    else
      load_raw<std::uint8_t>(from, raw);
    for (unsigned i = 0; i < Count; ++i) to[i] = widen(raw[i]);
  }

  TYLO_FN float load(std::byte const* from) const {
    std::byte const* const places[] = {from};
    float value[1];
    load(places, value);
    return value[0];
  }

  /// Nearest even, one rounding.
  TYLO_FN void store(std::byte* to, float value) const {
    if (bytes_ == 2)
      *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(narrow(value));
    else if (bytes_ == 4)
      *reinterpret_cast<float*>(to) = value;
    else
      *reinterpret_cast<std::uint8_t*>(to) = static_cast<std::uint8_t>(narrow(value));
  }

private:
  /// What a type has in a table of 8 bits a type, fp32 last; of 16 bits, bf16 last.
  TYLO_FN static std::uint32_t field(data_type type, std::uint64_t table) {
    return static_cast<std::uint32_t>(table >> (8 * static_cast<unsigned>(type))) & 0xFFu;
  }
  TYLO_FN static std::uint32_t code(data_type type, std::uint64_t table) {
    return static_cast<std::uint32_t>(table >> (16 * (static_cast<unsigned>(type) - 1) & 63)) & 0xFFFFu;
  }

  template <class T, unsigned Count>
  TYLO_FN static void load_raw(std::byte const* const (&from)[Count], std::uint32_t (&raw)[Count]) {
    for (unsigned i = 0; i < Count; ++i)
      if constexpr (std::is_same_v<T, float>)
        raw[i] = std::bit_cast<std::uint32_t>(*reinterpret_cast<float const*>(from[i]));
      else
        raw[i] = *reinterpret_cast<T const*>(from[i]);
  }

  /// Distance of the element's sign from that of fp32, and its other bits.
  TYLO_FN std::uint32_t sign_shift() const { return 32 - 8 * bytes_; }
  TYLO_FN std::uint32_t magnitudes() const { return 0x7FFFFFFFu >> sign_shift(); }

  /// Exponent and fraction go to their place in fp32; the product moves the exponent's bias, and is exact, also where
  /// the element is subnormal.
  TYLO_FN float widen(std::uint32_t raw) const {
    auto const magnitude = raw & magnitudes();
    auto const bits = (raw << sign_shift() & 0x80000000u) | magnitude << shift_;
    float const value = std::bit_cast<float>(bits) * std::bit_cast<float>(rebias_ + (127u << 23));
    return magnitude >= first_special_ ? std::bit_cast<float>(bits | 0x7F800000u) : value;
  }

  /// The bits of a 16- or 8-bit element. A sum with a power of 2 whose last bit is the smallest subnormal's rounds to
  /// multiples of that; other numbers drop bits.
  TYLO_FN std::uint32_t narrow(float value) const {
    auto const bits = std::bit_cast<std::uint32_t>(value);
    auto const magnitude = bits & 0x7FFFFFFFu;
    auto const large = rebias_ + ((1 + shift_) << 23);
    auto const subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(large)) - large;
    auto const wide = magnitude - rebias_;
    auto const normal = (wide + (1u << (shift_ - 1)) - 1u + (wide >> shift_ & 1u)) >> shift_;
    auto rounded = magnitude < rebias_ + (1u << 23) ? subnormal : normal;
    rounded = rounded < most_ ? rounded : most_;
    return (bits >> sign_shift() & (magnitudes() + 1)) | (magnitude > 0x7F800000u ? nan_ : rounded);
  }

  std::uint32_t bytes_;
  std::uint32_t shift_;         ///< from the element's exponent to that of fp32
  std::uint32_t rebias_;        ///< difference of the biases, as an exponent of fp32
  std::uint32_t first_special_; ///< magnitude from which on `widen` must make infinity or NaN, if fp32 would not
  std::uint32_t most_;          ///< what overflows becomes
  std::uint32_t nan_;
};

} // namespace mk::handlers
