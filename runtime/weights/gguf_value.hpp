#pragma once

/// The values of GGUF metadata. Text and arrays are views into the file's bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace mk {

/// Numbers stored one after another at any address, little-endian; elements are read by value.
template <typename Number> class packed_view {
public:
  packed_view() = default;
  explicit packed_view(std::span<std::byte const> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() / sizeof(Number); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }

  /// Element `index`, which must be below `size()`.
  [[nodiscard]] Number operator[](std::size_t index) const noexcept {
    Number value;
    std::memcpy(&value, bytes_.data() + index * sizeof(Number), sizeof(Number));
    return value;
  }

private:
  std::span<std::byte const> bytes_;
};

/// The scalar and array types of the format but for arrays of arrays, which no reader of it takes.
using gguf_value = std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
                                float, bool, std::string_view, std::uint64_t, std::int64_t, double,
                                packed_view<std::uint8_t>, packed_view<std::int8_t>, packed_view<std::uint16_t>,
                                packed_view<std::int16_t>, packed_view<std::uint32_t>, packed_view<std::int32_t>,
                                packed_view<float>, packed_view<bool>, std::vector<std::string_view>,
                                packed_view<std::uint64_t>, packed_view<std::int64_t>, packed_view<double>>;

/// The name of the type that `value` holds, as in messages: "uint32", "array of string".
[[nodiscard]] constexpr std::string_view type_name(gguf_value const& value) noexcept {
  constexpr std::array<std::string_view, std::variant_size_v<gguf_value>> names = {
      "uint8",
      "int8",
      "uint16",
      "int16",
      "uint32",
      "int32",
      "float32",
      "bool",
      "string",
      "uint64",
      "int64",
      "float64",
      "array of uint8",
      "array of int8",
      "array of uint16",
      "array of int16",
      "array of uint32",
      "array of int32",
      "array of float32",
      "array of bool",
      "array of string",
      "array of uint64",
      "array of int64",
      "array of float64",
  };
  return names[value.index()];
}

} // namespace mk
