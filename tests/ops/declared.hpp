#pragma once

/// What a task says it writes against what it writes.

#include "kit.hpp"

namespace mk::kit {

/// One task changes exactly the bytes of the boxes that it says it writes, in each of the given operands, whatever it
/// writes there (memory starts as bytes FF, so results must not be that NaN).
template <class Op>
void expect_writes_are_declared(node<Op>& n, typename Op::arguments const& arguments, task const& t,
                                std::vector<int> const& written) {
  for (int slot : written) n[slot].storage->poison();
  operation_of<Op>.run(&arguments, n.views(), t);
  for (int slot : written) {
    std::vector<box> boxes;
    for (auto const& r : n.regions(t))
      if (r.write && r.operand == slot) boxes.push_back(r.where);
    auto const& desc = n[slot].desc;
    std::int64_t element = 0;
    n[slot].each([&](std::byte const* from) {
      box place;
      auto rest = element++;
      for (std::size_t i = max_rank; i-- > 0;) {
        auto const extent = static_cast<std::int32_t>(i) < desc.rank ? desc.extents[i].capacity : 1;
        place.begin[i] = rest % extent;
        place.end[i] = place.begin[i] + 1;
        rest /= extent;
      }
      bool changed = false;
      for (std::int64_t i = 0; i < bytes_of(desc.type); ++i) changed |= from[i] != std::byte{0xFF};
      auto const inside = std::count_if(boxes.begin(), boxes.end(), [&](box const& b) { return contains(b, place); });
      EXPECT_EQ(inside, changed ? 1 : 0) << Op::slots[static_cast<std::size_t>(slot)].name << " " << element - 1;
    });
  }
}

} // namespace mk::kit
