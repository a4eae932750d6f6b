#pragma once

/// The element types of tensors, as run-time values.

#include <megakernels/tylo/target.hpp>

#include <cstdint>
#include <string_view>

namespace tylo {

/// Element type of a tensor. The numeric values are part of the program format.
enum class data_type : std::int32_t {
  fp32 = 0,
  bf16 = 1, ///< upper half of fp32
  fp16 = 2, ///< IEEE 754 binary16
  e4m3 = 3, ///< OCP FP8 E4M3 (finite and NaN, largest 448)
  e5m2 = 4, ///< OCP FP8 E5M2
  int8 = 5,
  int32 = 6,
};

/// True where `type` is one of the enumerators (a value read from a file may be anything).
TYLO_FN constexpr bool is_known(data_type type) { return static_cast<std::uint32_t>(type) <= 6u; }

/// Bytes of one element.
TYLO_FN constexpr std::int64_t bytes_of(data_type type) {
  switch (type) {
  case data_type::fp32:
  case data_type::int32:
    return 4;
  case data_type::bf16:
  case data_type::fp16:
    return 2;
  default:
    return 1;
  }
}

TYLO_FN constexpr bool is_floating(data_type type) { return type != data_type::int8 && type != data_type::int32; }

constexpr std::string_view name_of(data_type type) {
  constexpr std::string_view names[] = {"fp32", "bf16", "fp16", "e4m3", "e5m2", "int8", "int32"};
  return is_known(type) ? names[static_cast<std::uint32_t>(type)] : std::string_view("unknown");
}

} // namespace tylo
