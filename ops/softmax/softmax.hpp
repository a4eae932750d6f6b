#pragma once

/// y[t, i] = exp(scale * x[t, i] - m[t]) / (sum over j of exp(scale * x[t, j] - m[t]))
/// with m[t] the largest scale * x[t, j]

#include <megakernels/ops/operation.hpp>

namespace mk {

/// x [rows, width] of any floating type; y [rows, width] of `type`. A width of 0 is legal. Where the formula has no
/// value, by row: all scale * x are -inf: zeros; any of them is NaN or +inf: NaN throughout that row (in fp8: its NaN).
struct softmax {
  static constexpr std::string_view name = "softmax";
  static constexpr std::uint32_t revision = 1;

  struct arguments {
    float scale = 1.0f; ///< finite
    data_type type = data_type::fp32;
  };

  enum : int { x, y };
  static constexpr std::array slots{input("x"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const&);
  static work_shape work(arguments const&, std::span<tensor_desc const>);
  static void regions(arguments const&, std::span<tensor_desc const>, task const&, region_list&);
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const&);
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const>, task const&);
};

} // namespace mk
