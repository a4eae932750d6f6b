#pragma once

/// Single elements of tensors for device handlers: whatever the element type, a number in fp32, and back with one
/// rounding. Addresses come from `tensor_view::at`, which counts in 64 bits.

#include <megakernels/ops/tensor.hpp>
#include <megakernels/tylo/lane/convert.hpp>
#include <megakernels/tylo/target.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mk::handlers {

/// `bytes_of` without a branch.
TYLO_FN constexpr std::int64_t element_bytes(data_type type) {
  constexpr std::uint32_t bytes = 0x4111224; // a digit for each type, fp32 in the last
  return bytes >> 4 * static_cast<std::uint32_t>(type) & 7u;
}
static_assert([] {
  for (std::int32_t type = 0; is_known(data_type{type}); ++type)
    if (element_bytes(data_type{type}) != bytes_of(data_type{type})) return false;
  return true;
}());

/// The value of an element. int32 is rounded to fp32, the rest is exact.
template <class T> TYLO_FN float widen(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<float>(value);
  else
    return tylo::widen(value);
}

/// The element of type T at an address.
template <class T> TYLO_FN float load_as(std::byte const* at) { return widen(*reinterpret_cast<T const*>(at)); }

/// The element at an address.
TYLO_FN inline float load(data_type type, std::byte const* at) {
  switch (type) {
  case data_type::bf16:
    return load_as<tylo::bf16>(at);
  case data_type::fp16:
    return load_as<tylo::fp16>(at);
  case data_type::e4m3:
    return load_as<tylo::e4m3>(at);
  case data_type::e5m2:
    return load_as<tylo::e5m2>(at);
  case data_type::int8:
    return load_as<std::int8_t>(at);
  case data_type::int32:
    return load_as<std::int32_t>(at);
  default:
    return load_as<float>(at);
  }
}

/// Stores a number as an element of a floating type: nearest even, one rounding.
TYLO_FN inline void store(data_type type, std::byte* at, float value) {
  switch (type) {
  case data_type::bf16:
    *reinterpret_cast<tylo::bf16*>(at) = tylo::narrow<tylo::bf16>(value);
    break;
  case data_type::fp16:
    *reinterpret_cast<tylo::fp16*>(at) = tylo::narrow<tylo::fp16>(value);
    break;
  case data_type::e4m3:
    *reinterpret_cast<tylo::e4m3*>(at) = tylo::narrow<tylo::e4m3>(value);
    break;
  case data_type::e5m2:
    *reinterpret_cast<tylo::e5m2*>(at) = tylo::narrow<tylo::e5m2>(value);
    break;
  default:
    *reinterpret_cast<float*>(at) = value;
  }
}

/// The element of an int32 tensor.
TYLO_FN inline std::int32_t load_index(std::byte const* at) { return *reinterpret_cast<std::int32_t const*>(at); }

} // namespace mk::handlers
