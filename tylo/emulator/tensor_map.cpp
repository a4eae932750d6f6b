#include <megakernels/tylo/emulator/tensor_map.hpp>

#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace tylo::emulator {
namespace {

constexpr std::uint64_t mark = 0x70616D2D6F6C7974; // "tylo-map"

struct contents_of_map {
  std::uint64_t marked;
  std::uint64_t address;
  std::array<std::uint64_t, max_tensor_map_rank - 1> strides;
  std::array<std::uint32_t, max_tensor_map_rank> last; ///< index of each axis
  std::array<std::uint32_t, max_tensor_map_rank> box;
  std::uint8_t rank, element_bytes, swizzle;
};
static_assert(sizeof(contents_of_map) <= sizeof(tensor_map) && std::is_trivially_copyable_v<contents_of_map>);

void expect(bool condition, std::string const& text) {
  if (!condition) throw std::invalid_argument("tensor map: " + text);
}

} // namespace

tensor_map encode_tensor_map(tensor_map_parameters const& p) {
  auto const size = p.element_bytes;
  expect(size == 1 || size == 2 || size == 4 || size == 8, "elements of " + std::to_string(size) + " bytes");
  expect(p.rank >= 1 && p.rank <= max_tensor_map_rank, std::to_string(p.rank) + " axes: 1 to 5");
  auto const address = reinterpret_cast<std::uintptr_t>(p.address);
  expect(address != 0 && address % 16 == 0, "the address of the tensor is a multiple of 16");
  contents_of_map c{};
  for (unsigned i = 0; i < p.rank; ++i) {
    auto const axis = "axis " + std::to_string(i) + ": ";
    expect(p.extents[i] >= 1 && p.extents[i] <= std::uint64_t(1) << 32,
           axis + std::to_string(p.extents[i]) + " elements: 1 to 2^32");
    expect(p.box[i] >= 1 && p.box[i] <= 256, axis + std::to_string(p.box[i]) + " elements of a box: 1 to 256");
    c.last[i] = static_cast<std::uint32_t>(p.extents[i] - 1);
    c.box[i] = p.box[i];
    if (i == 0) continue;
    auto const stride = p.strides[i - 1];
    expect(stride % 16 == 0 && stride < std::uint64_t(1) << 40,
           axis + std::to_string(stride) + " bytes from one to the next: a multiple of 16 below 2^40");
    c.strides[i - 1] = stride;
  }
  auto const row = p.box[0] * size;
  expect(row % 16 == 0, "a row of a box of " + std::to_string(row) + " bytes: a multiple of 16");
  expect(p.swizzle == tensor_swizzle::none || row <= span_of(p.swizzle),
         "a row of a box of " + std::to_string(row) + " bytes: at most the " + std::to_string(span_of(p.swizzle)) +
             " of the swizzle");
  c.marked = mark;
  c.address = address;
  c.rank = static_cast<std::uint8_t>(p.rank);
  c.element_bytes = static_cast<std::uint8_t>(size);
  c.swizzle = static_cast<std::uint8_t>(p.swizzle);
  tensor_map map{};
  std::memcpy(&map, &c, sizeof c);
  return map;
}

std::optional<tensor_map_parameters> decode_tensor_map(tensor_map const& map) {
  contents_of_map c;
  std::memcpy(&c, &map, sizeof c);
  if (c.marked != mark) return std::nullopt;
  tensor_map_parameters p{.element_bytes = c.element_bytes,
                          .rank = c.rank,
                          .address = reinterpret_cast<void const*>(c.address),
                          .strides = c.strides,
                          .box = c.box,
                          .swizzle = static_cast<tensor_swizzle>(c.swizzle)};
  for (unsigned i = 0; i < p.rank; ++i) p.extents[i] = std::uint64_t(c.last[i]) + 1;
  return p;
}

} // namespace tylo::emulator
