#pragma once

/// The bytes of a GGUF file as tables (github.com/ggml-org/ggml, docs/gguf.md), versions 2 and 3, little-endian.

#include <megakernels/runtime/weights/ggml_type.hpp>
#include <megakernels/runtime/weights/gguf_value.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mk {

struct gguf_entry {
  std::string_view key;
  gguf_value value;
  std::uint64_t offset; ///< of the value, in bytes from the start of the file
};

struct gguf_tensor {
  std::string_view name;
  ggml_type type;
  std::vector<std::uint64_t>
      extents;          ///< row-major, outermost first (the file lists them innermost first); rank 0 is one element
  std::uint64_t offset; ///< of the first byte, in bytes from the start of the file
  std::span<std::byte const> bytes; ///< exactly the elements; empty where `block_of(type)` is nothing

  /// Elements of a row, the innermost extent; 1 for rank 0.
  [[nodiscard]] std::uint64_t row_elements() const noexcept { return extents.empty() ? 1 : extents.back(); }
  /// Rows, the product of all extents but the innermost; 0 where there are no elements at all.
  [[nodiscard]] std::uint64_t row_count() const noexcept;
  [[nodiscard]] std::uint64_t element_count() const noexcept { return row_elements() * row_count(); }
};

struct gguf_contents {
  std::uint32_t version = 0;
  std::uint64_t alignment = 32; ///< of tensor data, in bytes
  std::vector<gguf_entry> entries;
  std::vector<gguf_tensor> tensors;
  std::unordered_map<std::string_view, std::size_t> entry_of_key;
  std::unordered_map<std::string_view, std::size_t> tensor_of_name;
};

/// Reads and checks everything but the elements of tensors. The result holds views into `bytes`.
/// Throws `file_error` naming `file`, the byte offset and the cause: not a GGUF file, another version, big-endian, any
/// count, length or offset that leaves the file, a repeated key or tensor name, a misaligned tensor, a row that is not
/// whole blocks, more than 2^63-1 elements, more than 4 dimensions. Time and memory are bounded by the size of `bytes`,
/// whatever counts they claim.
[[nodiscard]] gguf_contents parse_gguf(std::span<std::byte const> bytes, std::string const& file);

/// `text` from a file as a message can show it: in quotes, cut to 64 bytes, other than printable ASCII as \xNN.
[[nodiscard]] std::string printable(std::string_view text);

} // namespace mk
