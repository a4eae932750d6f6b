#pragma once

/// y[t, i] = silu(gate[t, i]) * up[t, i], silu(v) = v / (1 + exp(-v))
/// Source: Shazeer, GLU Variants Improve Transformer, 2020.

#include <megakernels/ops/operation.hpp>

namespace mk {

/// gate and up [rows, width], any floating types; y [rows, width] of `type`. The grid is rows x width.
struct silu_mul {
  static constexpr std::string_view name = "silu_mul";
  static constexpr std::uint32_t revision = 1;

  struct arguments {
    data_type type = data_type::fp32;
  };

  enum : int { gate, up, y };
  static constexpr std::array slots{input("gate"), input("up"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const&);
  static work_shape work(arguments const&, std::span<tensor_desc const>);
  static void regions(arguments const&, std::span<tensor_desc const>, task const&, region_list&);
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const&);
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const>, task const&);
};

} // namespace mk
