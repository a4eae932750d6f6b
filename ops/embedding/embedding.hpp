#pragma once

/// y[t, i] = table[ids[t], i]

#include <megakernels/ops/operation.hpp>

namespace mk {

/// table [vocabulary, width] of any floating type, ids [rows] int32; y [rows, width] of `type`. Also gathers rows of
/// activations. An id outside 0 .. vocabulary-1 is refused by `check`, naming row, id and limit; where the host does
/// not see the ids, such a row becomes zeros.
struct embedding {
  static constexpr std::string_view name = "embedding";
  static constexpr std::uint32_t revision = 1;

  struct arguments {
    data_type type = data_type::fp32;
  };

  enum : int { table, ids, y };
  static constexpr std::array slots{input("table"), input("ids"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const&);
  static work_shape work(arguments const&, std::span<tensor_desc const>);
  static void regions(arguments const&, std::span<tensor_desc const>, task const&, region_list&);
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const&);
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const>, task const&);
  static void check(arguments const&, std::span<tensor_view const>);
};

} // namespace mk
