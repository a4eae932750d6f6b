#pragma once

/// XOR swizzles: permutations of offsets that spread the rows of a tile over the banks of shared memory. Three numbers,
/// as in CuTe's Swizzle<bits, base, shift>. Bits of an offset, the lowest to the right, with bits 3, base 2, shift 4:
///
///     . . Y Y Y . Z Z Z k k        Z ^= Y
///         \___/   \___/ \_/
///         bits    bits  base       Y is `shift` above Z (below it, where `shift` is negative)
///
/// Whole chunks of 2^base elements stay together.

#include <megakernels/tylo/target.hpp>

#include <bit>
#include <concepts>
#include <cstdint>

namespace tylo {

/// With no bits it changes nothing. Otherwise Y and Z do not overlap, |shift| >= bits: then it is its own inverse.
struct swizzle {
  int bits = 0;
  int base = 0;
  int shift = 0;

  /// The bits that it looks at, and those it changes.
  TYLO_FN constexpr std::uint64_t source() const { return ones() << (base + (shift > 0 ? shift : 0)); }
  TYLO_FN constexpr std::uint64_t target() const { return ones() << (base - (shift < 0 ? shift : 0)); }

  /// Where an element goes that was at `offset`, in elements.
  template <std::unsigned_integral Offset> TYLO_FN constexpr Offset operator()(Offset offset) const {
    auto const seen = offset & static_cast<Offset>(source());
    return offset ^ (shift < 0 ? seen << -shift : seen >> shift);
  }

  friend constexpr bool operator==(swizzle const&, swizzle const&) = default;

private:
  TYLO_FN constexpr std::uint64_t ones() const { return (std::uint64_t(1) << bits) - 1; }
};

/// Whether no two offsets go to one, and the swizzle undoes itself.
constexpr bool is_valid(swizzle s) {
  auto const distance = s.shift < 0 ? -s.shift : s.shift;
  return s.bits >= 0 && s.base >= 0 && distance >= s.bits && s.bits + s.base + distance < 31;
}

/// Elements after which the pattern starts anew: offsets that differ by a multiple of it are moved alike.
constexpr std::int64_t period(swizzle s) { return std::int64_t(std::bit_ceil((s.source() | s.target()) + 1)); }

/// Elements of the aligned blocks inside which elements stay.
constexpr std::int64_t reach(swizzle s) { return std::int64_t(std::bit_ceil(s.target() + 1)); }

/// A swizzle by the hardware's name: the mode of 32, 64 or 128 bytes of tensor maps and wgmma descriptors, for elements
/// of 1, 2, 4, 8 or 16 bytes. Rows have as many bytes as the mode, in chunks of 16, and the tile is at a multiple of 8
/// rows. CUDA driver API, CUtensorMapSwizzle; PTX ISA, matrix descriptor.
constexpr swizzle hardware_swizzle(int mode_bytes, int element_bytes) {
  if (mode_bytes != 32 && mode_bytes != 64 && mode_bytes != 128) throw "tylo: swizzles have 32, 64 or 128 bytes";
  auto const chunk = static_cast<unsigned>(16 / element_bytes);
  if (!std::has_single_bit(chunk) || static_cast<int>(chunk) * element_bytes != 16)
    throw "tylo: elements have 1, 2, 4, 8 or 16 bytes";
  return {std::countr_zero(static_cast<unsigned>(mode_bytes / 16)), std::countr_zero(chunk), 3};
}

/// Whether there is a swizzle that does what two do, and which.
struct fitted_swizzle {
  bool fits = false;
  swizzle found;
};

/// One swizzle for `first` and then `second`: where both have one shift, and the bits that one of them looks at and the
/// other does not are neighbours, no more than the shift. Then the second looks at nothing that the first changed.
constexpr fitted_swizzle composed(swizzle second, swizzle first) {
  if (first.bits == 0 && second.bits == 0) return {true, {}};
  if (first.bits == 0) return {true, second};
  if (second.bits == 0) return {true, first};
  if (first.shift != second.shift) return {};
  auto const seen = first.source() ^ second.source();
  if (seen == 0) return {true, {}};
  auto const lowest = std::countr_zero(seen), bits = std::popcount(seen);
  if (!std::has_single_bit((seen >> lowest) + 1)) return {};
  swizzle const found{bits, lowest - (first.shift > 0 ? first.shift : 0), first.shift};
  if (!is_valid(found)) return {};
  return {true, found};
}

} // namespace tylo
