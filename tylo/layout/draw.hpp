#pragma once

/// Pictures of ownerships and layouts, as text and as SVG: one cell for each element, rows from top to bottom. For the
/// host.
///
///     std::cout << tylo::text_of(tylo::picture_of(tylo::local<tylo::axis::columns>(2, 4)));
///
///           0     1
///     0  T0:0  T0:1        thread 0 has (0, 0) in its slot 0
///     1  T1:0  T1:1
///     2  T2:0  T2:1
///     3  T3:0  T3:1

#include <megakernels/tylo/layout/coordinate.hpp>
#include <megakernels/tylo/layout/layout.hpp>
#include <megakernels/tylo/layout/ownership.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tylo {

struct picture {
  struct cell {
    std::string label;
    int colour = -1; ///< cells of one number look alike, 32 numbers differently; below 0: no colour
  };

  coordinate extents;
  std::vector<cell> cells; ///< row after row
};

/// Who holds what: T<thread>:<slot>, or T<first>-<last>:<slot> of several threads; coloured by the first thread. Throws
/// std::invalid_argument where someone holds what is outside of the tile.
picture picture_of(ownership const&);

/// The offset of each element. With the bytes of one, coloured by the bank of shared memory that its first byte is in,
/// of 32 with 4 bytes each: what a warp accesses at once takes turns where it has one colour and not one word.
picture picture_of(coordinate extents, std::function<std::int64_t(coordinate)> const& offset, int element_bytes = 0);

/// The same of a layout, as swizzled as it is.
template <layout_form Form> picture picture_of(layout<Form> const& map, int element_bytes = 0) {
  return picture_of(map.extents(), map, element_bytes);
}

std::string text_of(picture const&);
std::string svg_of(picture const&);

} // namespace tylo
