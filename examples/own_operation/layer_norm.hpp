#pragma once

/// An operation that the library does not have, written as a user would: layer norm.

#include <megakernels/ops/operation.hpp>
#include <megakernels/ops/reference/rows.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

namespace my {

// [operation]
/// y[t, i] = (x[t, i] - mean) / sqrt(variance + epsilon) * weight[i] + bias[i], mean and variance over i.
/// x [rows, width], weight and optional bias [width], any floating types; y [rows, width] of x's type.
struct layer_norm {
  static constexpr std::string_view name = "layer_norm";
  static constexpr std::uint32_t revision = 1;

  struct arguments {
    float epsilon = 1e-5f;
  };

  enum : int { x, weight, bias, y };
  static constexpr std::array slots{mk::input("x"), mk::input("weight"), mk::optional("bias"), mk::output("y")};

  /// Checks operands and arguments, and gives the shapes of the outputs.
  static std::vector<mk::output_shape> infer(arguments const& a, mk::shape_query const& q) {
    q.expect_rank(x, 2);
    q.expect_floating(x);
    for (int const gain : {weight, bias}) {
      if (!q.present(gain)) continue;
      q.expect_rank(gain, 1);
      q.expect_floating(gain);
      q.expect_same(gain, 0, x, 1);
    }
    q.expect_argument(a.epsilon > 0, "epsilon", a.epsilon, "over 0");
    return {q.make(q[x].type, {{x, 0}, {x, 1}})};
  }

  /// How the work can be cut: into rows, which may be live. A row is one piece.
  static mk::work_shape work(arguments const&, std::span<mk::tensor_desc const> o) { return {.rows = o[x].extents[0]}; }

  /// What a task reads and writes. All dependencies follow from this.
  static void regions(arguments const&, std::span<mk::tensor_desc const> o, mk::task const& t, mk::region_list& r) {
    r.read(x).along(0, t.row_begin, t.row_end);
    r.read(weight);
    if (o[bias].rank >= 0) r.read(bias);
    r.write(y).along(0, t.row_begin, t.row_end);
  }

  /// What a task costs: the scheduler cuts and places by it.
  static mk::cost cost_of(arguments const&, std::span<mk::tensor_desc const> o, mk::task const& t) {
    auto const elements = static_cast<double>((t.row_end - t.row_begin) * o[x].extents[1].capacity);
    return {.bytes = 2 * elements * static_cast<double>(bytes_of(o[x].type)), .operations = 7 * elements};
  }

  /// What it means. The host runs it with float; double is what tests compare with.
  template <class Accumulate>
  static void reference(arguments const& a, std::span<mk::tensor_view const> o, mk::task const& t) {
    using namespace mk::reference;
    auto const width = o[x].extent(1);
    auto const row = scratch<Accumulate, 0>(width), square = scratch<Accumulate, 1>(width);
    auto const gain = scratch<Accumulate, 2>(width), shift = scratch<Accumulate, 3>(width);
    load_row<Accumulate>(o[weight].type, o[weight].data, o[weight].stride(0), gain);
    std::ranges::fill(shift, Accumulate(0));
    if (o[bias].present()) load_row<Accumulate>(o[bias].type, o[bias].data, o[bias].stride(0), shift);

    for (auto r = t.row_begin; r < t.row_end; ++r) {
      load_row<Accumulate>(o[x].type, o[x].at(r), o[x].stride(1), row);
      auto const mean = mean_of<Accumulate>(row);
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] -= mean;
        square[i] = row[i] * row[i];
      }
      auto const scale = 1 / std::sqrt(mean_of<Accumulate>(square) + static_cast<Accumulate>(a.epsilon));
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = row[i] * scale * gain[i] + shift[i];
      store_row<Accumulate>(o[y].type, o[y].at(r), o[y].stride(1), row);
    }
  }

  /// Sums in a fixed order that vectorises: 32 partial sums, joined pairwise.
  template <class Accumulate> static Accumulate mean_of(std::span<Accumulate const> row) {
    std::array<Accumulate, mk::reference::partial_sums> partial{};
    for (std::size_t i = 0; i < row.size(); ++i) partial[i % partial.size()] += row[i];
    return mk::reference::join(partial) / static_cast<Accumulate>(row.size());
  }
};
// [/operation]

} // namespace my
