#pragma once

/// The element types of tensors in GGUF files (`enum ggml_type` of ggml) and how their blocks are laid out.

#include <cstdint>
#include <optional>
#include <string>

namespace mk {

/// A type as a file numbers it. Values without an enumerator here are legal in a file; such tensors cannot be read.
enum class ggml_type : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q8_0 = 8,
  q6_k = 14,
  bf16 = 30,
};

/// Neighbouring elements of a row that are stored together.
struct ggml_block {
  std::uint64_t elements;
  std::uint64_t bytes;
};

/// The block of a type that `dequantize` reads, nothing for any other.
[[nodiscard]] std::optional<ggml_block> block_of(ggml_type type) noexcept;

/// ggml's own name, also for types that cannot be read ("Q4_K"); "type 77" for a number that ggml does not define.
[[nodiscard]] std::string name_of(ggml_type type);

} // namespace mk
