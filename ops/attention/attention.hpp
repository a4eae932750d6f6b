#pragma once

/// Attention of the rows of a ragged batch over a paged cache (`paged_cache.hpp` tells its layout). Row t is the token
/// at position[t] of sequence[t]; query head h reads head h * kv_heads / heads of the cache.
///
///     visible = causal ? min(position[t] + 1, length[sequence[t]]) : length[sequence[t]]
///     s[j]    = scale * sum over i of q[t, h, i] * key[j, i]                                  for 0 <= j < visible
///     lse     = log(sum over j of exp(s[j]))                                                  natural logarithm
///     o[t, h] = sum over j of exp(s[j] - lse) * value[j]
///
/// The causal mask aligns the last query with the last key: row i of n rows over m keys has position m - n + i, which
/// is negative where a row sees no key. A row that sees no key, and a padding row (sequence -1), has o = 0 and lse =
/// -infinity; so has a row whose scores are all -infinity. A score of NaN or +infinity gives NaN in its row and head.
///
/// With `splits` > 1 the keys are shared out: split s takes the positions [s * share, (s + 1) * share), share being
/// ceil(blocks_per_sequence / splits) blocks, so that results do not depend on the lengths of other sequences. The
/// outputs are then the states of the splits, which the operation `merge` joins.
/// Source: Vaswani and others, Attention Is All You Need, 2017; Dao and others, Flash-Decoding, 2023 (splits).

#include <megakernels/ops/operation.hpp>

namespace mk {

/// q [rows, heads * head_dim], any floating type; the cache, `sequence`, `position`, `length` and `block_table` as in
/// `paged_cache.hpp`.
/// splits == 1: o [rows, heads * head_dim] of `type`, lse [rows, heads] fp32.
/// splits > 1: o [splits, rows, heads * head_dim] fp32, lse [splits, rows, heads] fp32, not optional then.
///
/// `check` refuses a sequence out of range, a length that is negative or over the capacity of a sequence, and a needed
/// block out of range; several sequences may share blocks. Unchecked, lengths are cut to the capacity, and the keys of
/// a block that does not exist count as not visible.
struct attention {
  static constexpr std::string_view name = "attention";
  static constexpr std::uint32_t revision = 1;

  static constexpr std::int32_t largest_head_dim = 1024;
  static constexpr std::int32_t largest_splits = 1024;

  struct arguments {
    std::int32_t heads = 1;    ///< of q; a multiple of the cache's kv_heads
    std::int32_t head_dim = 1; ///< 1 to `largest_head_dim`, as in the cache
    std::int32_t causal = 1;   ///< 0 or 1
    std::int32_t splits = 1;   ///< 1 to `largest_splits`
    float scale = 1;           ///< finite; most models want 1 / sqrt(head_dim)
    data_type type = data_type::fp32;
  };

  enum : int { q, k_cache, v_cache, sequence, position, length, block_table, o, lse };
  static constexpr std::array slots{input("q"),           input("k_cache"),  input("v_cache"),
                                    input("sequence"),    input("position"), input("length"),
                                    input("block_table"), output("o"),       optional_output("lse")};

  static std::vector<output_shape> infer(arguments const&, shape_query const&);
  /// Column c is split c / kv_heads, head c % kv_heads of the cache with all the query heads that read it.
  static work_shape work(arguments const&, std::span<tensor_desc const>);
  static void regions(arguments const&, std::span<tensor_desc const>, task const&, region_list&);
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const&);
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const>, task const&);
  static void check(arguments const&, std::span<tensor_view const>);
};

} // namespace mk
