#pragma once

/// p[t, c] = scale[c] * (sum over k of x[t, k] * weight[c, k]) + bias[c]
/// u[t, c] = up_scale[c] * (sum over k of x[t, k] * up[c, k])
/// y[t, c] = activation(p[t, c]) + residual[t, c], or with `up`: silu(p[t, c]) * u[t, c] + residual[t, c]
/// silu(v) = v / (1 + exp(-v)). One rounding, at the store. Source of the gated form: Shazeer, GLU Variants Improve
/// Transformer, 2020.

#include <megakernels/ops/operation.hpp>

namespace mk {

/// x [rows, inner] of any floating type; weight and optional up [columns, inner] of any floating type or int8 (rows of
/// a weight are output features, as model files store them); optional bias [columns], residual [rows, columns], of any
/// floating type; optional scale and up_scale [columns] fp32, meant for weights of 8 bits; y [rows, columns] of `type`.
/// `inner` 0 is legal: the sum is 0. Sums have 32 partial sums joined pairwise, the same for any number of rows.
/// The grid is rows x columns.
struct linear {
  static constexpr std::string_view name = "linear";
  static constexpr std::uint32_t revision = 1;

  static constexpr std::int32_t no_activation = 0;
  static constexpr std::int32_t silu = 1;

  struct arguments {
    data_type type = data_type::fp32;
    std::int32_t activation = no_activation; ///< `silu` where `up` is present
  };

  enum : int { x, weight, up, bias, residual, scale, up_scale, y };
  static constexpr std::array slots{input("x"),           input("weight"),   optional("up"),       optional("bias"),
                                    optional("residual"), optional("scale"), optional("up_scale"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const&);
  static work_shape work(arguments const&, std::span<tensor_desc const>);
  static void regions(arguments const&, std::span<tensor_desc const>, task const&, region_list&);
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const&);
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const>, task const&);
};

static_assert(std::has_unique_object_representations_v<linear::arguments>);

} // namespace mk
