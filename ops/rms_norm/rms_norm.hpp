#pragma once

/// y[t, i] = x[t, i] / sqrt(mean over i of x[t, i]^2 + epsilon) * weight[i]
/// Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.

#include <megakernels/ops/operation.hpp>

namespace mk {

/// x [rows, width] and optional weight [width], any floating types; y [rows, width] of `type`. A width of 0 is legal.
struct rms_norm {
  static constexpr std::string_view name = "rms_norm";
  static constexpr std::uint32_t revision = 1;

  struct arguments {
    float epsilon = 1e-5f; ///< not negative
    data_type type = data_type::fp32;
  };

  enum : int { x, weight, y };
  static constexpr std::array slots{input("x"), optional("weight"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const&);
  static work_shape work(arguments const&, std::span<tensor_desc const>);
  static void regions(arguments const&, std::span<tensor_desc const>, task const&, region_list&);
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const&);
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const>, task const&);
};

} // namespace mk
