#pragma once

/// Tensor maps of emulated kernels: made from what cuTensorMapEncodeTiled takes, with its checks. Their bytes are the
/// emulator's own; a GPU cannot read them.

#include <megakernels/tylo/lane/tensor_copy.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace tylo::emulator {

/// Which bits of an address in shared memory move a piece of 16 bytes; see tylo/lane/tensor_copy.hpp.
enum class tensor_swizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };

/// Axes are counted from the innermost. Elements of a box lie next to each other, and those outside of the tensor are
/// zero: element strides are 1, there is no interleaving.
struct tensor_map_parameters {
  unsigned element_bytes = 0; ///< 1, 2, 4 or 8
  unsigned rank = 0;
  void const* address = nullptr;
  std::array<std::uint64_t, max_tensor_map_rank> extents{};
  std::array<std::uint64_t, max_tensor_map_rank - 1> strides{}; ///< in bytes, of axis 1 and on
  std::array<std::uint32_t, max_tensor_map_rank> box{};
  tensor_swizzle swizzle = tensor_swizzle::none;
};

/// Throws std::invalid_argument for what the driver refuses.
tensor_map encode_tensor_map(tensor_map_parameters const&);
/// Nothing where the bytes are no map that was made here.
std::optional<tensor_map_parameters> decode_tensor_map(tensor_map const&);

/// Bytes whose pieces change places among themselves; 16 without a swizzle.
constexpr std::uint32_t span_of(tensor_swizzle s) { return 16u << static_cast<unsigned>(s); }

/// Where a swizzle puts the byte that would be at this address.
constexpr std::size_t swizzled(std::size_t address, tensor_swizzle s) {
  return address ^ (address >> 7 & ((1u << static_cast<unsigned>(s)) - 1)) << 4;
}

} // namespace tylo::emulator
