#pragma once

/// Appends keys and values to a paged cache (`paged_cache.hpp` tells its layout). For every row t and head h:
///
///     block = block_table[sequence[t], position[t] / block_size]
///     k_cache[block, position[t] % block_size, h, :] = k[t, h * head_dim ...], v_cache likewise
///
/// A row with sequence -1 or a negative position writes nothing.

#include <megakernels/ops/operation.hpp>

namespace mk {

/// k and v [rows, kv_heads * head_dim], any floating types; k_cache and v_cache [blocks, block_size, kv_heads,
/// head_dim], any floating types, updated in place; sequence and position [rows] int32; block_table [sequences,
/// blocks_per_sequence] int32. No outputs.
///
/// `check` refuses a sequence out of range, a position at or over the capacity of a sequence, a block out of range, and
/// two rows that write the same slot. Unchecked, such a row writes nothing, and of two rows the later one wins.
struct kv_append {
  static constexpr std::string_view name = "kv_append";
  static constexpr std::uint32_t revision = 1;

  struct arguments {
    std::int32_t reserved = 0; ///< must be 0: extents come from the cache
  };

  enum : int { k, v, k_cache, v_cache, sequence, position, block_table };
  static constexpr std::array slots{input("k"),        input("v"),        update("k_cache"),   update("v_cache"),
                                    input("sequence"), input("position"), input("block_table")};

  static std::vector<output_shape> infer(arguments const&, shape_query const&);
  /// Columns are the heads of the cache. A task takes all rows: two tasks may not write one cache.
  static work_shape work(arguments const&, std::span<tensor_desc const>);
  static void regions(arguments const&, std::span<tensor_desc const>, task const&, region_list&);
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const&);
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const>, task const&);
  static void check(arguments const&, std::span<tensor_view const>);
};

} // namespace mk
