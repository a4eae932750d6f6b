#pragma once

/// Tiles of a buffer as the copy engine of a GPU takes them, as plain data. A descriptor names a tensor in a buffer and
/// a box; a task later asks for the box at any coordinates, and gets it in shared memory.
///
/// Meaning. Element (i0, i1, ...) of the tensor lies at `offset + i0 * strides[0] + i1 * strides[1] + ...` bytes from
/// the buffer's start. The box at coordinates (c0, c1, ...), which may be negative or past the end, holds the elements
/// (c0 + b0, c1 + b1, ...), b below `box`, densely and in row-major order; elements outside the tensor are zeros. With
/// a swizzle, the 16-byte pieces of each group of 8 rows change places: bits 4.. of an address in shared memory are
/// exclusive-ored with its bits 7.. (one bit for 32 bytes, two for 64, three for 128).
/// Source: PTX ISA, tensors; CUDA driver API, cuTensorMapEncodeTiled.

#include <megakernels/tylo/data_type.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace mk {

/// Most axes that a descriptor may have.
inline constexpr std::int32_t max_descriptor_rank = 5;

/// Bytes of the rows whose pieces change places. The numeric values are part of the program format.
enum class swizzle : std::int32_t { none = 0, bytes_32 = 1, bytes_64 = 2, bytes_128 = 3 };

/// True where the value is one of the enumerators (a value read from a file may be anything).
constexpr bool is_known(swizzle s) { return static_cast<std::uint32_t>(s) <= 3u; }

/// Bytes of a row of a swizzled box; 0 where it is not swizzled.
constexpr std::int64_t row_bytes_of(swizzle s) { return s == swizzle::none ? 0 : 16 << static_cast<std::int32_t>(s); }

constexpr std::string_view name_of(swizzle s) {
  constexpr std::string_view names[] = {"none", "32 bytes", "64 bytes", "128 bytes"};
  return is_known(s) ? names[static_cast<std::uint32_t>(s)] : std::string_view("unknown");
}

/// Axis 0 is the outermost; axes from `rank` on are all zero. `verify` refuses a descriptor unless
/// - its buffer is a constant, a state or the workspace: others lie elsewhere in each submission, with other lengths;
/// - all elements lie inside the buffer; extents are from 1 to 2^32;
/// - the innermost stride is that of dense elements, the others and `offset` are multiples of 16 bytes below 2^40;
/// - the box has 1 to 256 elements along each axis and fewer than 2^20 bytes; its innermost axis is a multiple of 16
///   bytes, and with a swizzle exactly its 32, 64 or 128 bytes.
struct descriptor {
  std::uint32_t buffer = 0;
  std::int32_t rank = 0; ///< 1 to 5
  tylo::data_type type = tylo::data_type::fp32;
  mk::swizzle swizzle = mk::swizzle::none;
  std::uint64_t offset = 0; ///< bytes
  std::array<std::int64_t, max_descriptor_rank> extents{};
  std::array<std::int64_t, max_descriptor_rank> strides{}; ///< bytes
  std::array<std::uint32_t, max_descriptor_rank> box{};    ///< elements
  std::uint32_t reserved = 0;

  friend bool operator==(descriptor const&, descriptor const&) = default;
};
static_assert(sizeof(descriptor) == 128 && std::has_unique_object_representations_v<descriptor>);

/// Bytes of the box in shared memory, of a descriptor that was verified.
constexpr std::uint32_t box_bytes(descriptor const& d) {
  auto bytes = static_cast<std::uint32_t>(bytes_of(d.type));
  for (std::size_t i = 0; i < static_cast<std::size_t>(d.rank); ++i) bytes *= d.box[i];
  return bytes;
}

} // namespace mk
