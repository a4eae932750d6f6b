#pragma once

/// Warpgroup products that are under way. Each of the four warps carries out its own 16 rows, as on a GPU, where it
/// also waits for them alone.

#include <megakernels/tylo/emulator/internal/grid.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace tylo::emulator {

inline constexpr unsigned warpgroup_warps = 4;

/// Sums that products write: a warp's 16 rows, while its threads may not touch them.
struct pending_sums {
  std::array<float*, warp_lanes> registers{}; ///< of each lane
  unsigned columns = 0;
  unsigned unfinished = 0; ///< products that have not been waited for
  std::vector<float> values;
};

/// A factor in shared memory, as its descriptor tells.
struct factor_layout {
  std::uint32_t start = 0, leading = 0, stride = 0; ///< bytes
  unsigned swizzle = 0;                             ///< bits of the address that move a piece
};

/// A warp's part of a product.
struct warp_product {
  std::uint64_t number = 0; ///< of its warp's
  std::uint64_t operation = 0;
  site at{"", 0};
  cta* home = nullptr;
  unsigned first_row = 0;
  factor_layout a, b;
  bool accumulate = false;
  std::shared_ptr<pending_sums> sums;
  agent_clock clock;
};

struct warp_products {
  bool fenced = false;
  std::uint64_t issued = 0;
  std::deque<std::shared_ptr<warp_product>> undone; ///< in order
  std::vector<std::shared_ptr<warp_product>> open;  ///< that are in no group yet
  std::deque<std::vector<std::shared_ptr<warp_product>>> groups;
  std::vector<std::shared_ptr<pending_sums>> sums;
};

/// A product as the first warp that came to it asked for it.
struct issued_product {
  site at{"", 0};
  unsigned warps = 0; ///< bits of those that have come
  unsigned columns = 0;
  std::uint64_t a = 0, b = 0;
  bool accumulate = false;
};

struct product_group {
  std::array<warp_products, warpgroup_warps> warps;
  std::deque<issued_product> issued; ///< that not all warps have come to
  std::uint64_t first = 0;           ///< number of the first of those
};

/// The thread ends: raises where its products have not been waited for, or its warpgroup is in one that it never came
/// to.
void check_products_at_end(thread const&);

} // namespace tylo::emulator
