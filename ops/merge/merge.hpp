#pragma once

/// Joins the states of attention over parts of the keys. For every row t and head h, over the parts s that are not
/// empty (lse[s, t, h] != -infinity):
///
///     merged_lse[t, h] = log(sum over s of exp(lse[s, t, h]))
///     y[t, h, :]       = sum over s of exp(lse[s, t, h] - merged_lse[t, h]) * o[s, t, h, :]
///
/// -infinity is the only mark of an empty part, whose o is not read. All parts empty: y = 0 and merged_lse =
/// -infinity. An lse of NaN or +infinity gives NaN in y and merged_lse of its row and head only.
/// Source: Ye and others, FlashInfer, 2025 (recursive attention states); Dao and others, Flash-Decoding, 2023.

#include <megakernels/ops/operation.hpp>

namespace mk {

/// o [splits, rows, heads * head_dim] fp32, bf16 or fp16; lse [splits, rows, heads] fp32; y [rows, heads * head_dim]
/// of `type`; merged_lse [rows, heads] fp32. The sum runs over s in ascending order.
struct merge {
  static constexpr std::string_view name = "merge";
  static constexpr std::uint32_t revision = 1;

  struct arguments {
    std::int32_t heads = 1; ///< 1 or more; divides the width of o
    data_type type = data_type::fp32;
  };

  enum : int { o, lse, y, merged_lse };
  static constexpr std::array slots{input("o"), input("lse"), output("y"), optional_output("merged_lse")};

  static std::vector<output_shape> infer(arguments const&, shape_query const&);
  /// Columns are heads.
  static work_shape work(arguments const&, std::span<tensor_desc const>);
  static void regions(arguments const&, std::span<tensor_desc const>, task const&, region_list&);
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const&);
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const>, task const&);
};

} // namespace mk
