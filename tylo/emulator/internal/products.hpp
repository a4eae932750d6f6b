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
  site product{"", 0}; ///< the last one that adds to them
  site awaited{"", 0}; ///< where they were last named, in vain; no line: nowhere
  unsigned awaited_but = 0;

  [[nodiscard]] std::size_t bytes() const { return columns / 2 * sizeof(float); } ///< of each lane
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
  site fence{"", 0}; ///< the last one; no line: none yet
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

/// A thread's stack, where its sums lie: what is done with it from its first fence_products on.
struct watched_stack {
  warp_products const* of = nullptr;
  /// For each word, counted from the top, where it was last written since the last fence: no position where it was not.
  std::vector<code_position> written;
};
/// Takes the place of a position: a wait gave these sums back to the program.
inline constexpr auto delivered = static_cast<code_position>(~0u);

/// Of a warp whose lanes are at fence_products: what they have written is the registers' from now on.
void note_fence(warp const&, warp_products&, site);
/// The sums, given lane by lane, that a product writes: they are the tensor cores' from now on.
std::shared_ptr<pending_sums> take_sums(warp const&, warp_products&, std::array<float*, warp_lanes> const&,
                                        unsigned columns, site);
/// Gives the sums back to the program.
void deliver(warp const&, warp_products&, std::shared_ptr<pending_sums> const&);
/// Whether all of these words, of a lane, have come back from a product since the last fence.
bool were_delivered(thread const&, float const* sums, unsigned columns);

/// An access of a thread to its own stack, after its first fence_products.
void check_own_access(thread&, std::byte const* address, std::size_t bytes, bool write, code_position);

/// The thread ends: raises where its products have not been waited for, or its warpgroup is in one that it never came
/// to.
void check_products_at_end(thread const&);

} // namespace tylo::emulator
