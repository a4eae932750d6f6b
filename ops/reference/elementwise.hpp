#pragma once

/// What operations of the form y[t, i] = f(a[t, i], b[t, i]) share. The grid is rows x width.

#include <megakernels/ops/operation.hpp>
#include <megakernels/ops/reference/rows.hpp>

#include <algorithm>

namespace mk::elementwise {

std::vector<output_shape> infer(data_type type, shape_query const&, int a, int b);
work_shape work(tensor_desc const& y);
void regions(task const&, region_list&, int a, int b, int y);
/// `operations` of an element.
cost cost_of(std::span<tensor_desc const>, task const&, double operations);

template <class Accumulate, class F>
void run(tensor_view const& a, tensor_view const& b, tensor_view const& y, task const& t, F f) {
  auto const end = std::min(t.column_end, y.extent(1));
  auto const count = end - t.column_begin;
  if (count <= 0) return;
  auto const left = reference::scratch<Accumulate>(count);
  auto const right = reference::scratch<Accumulate, 1>(count);
  for (auto r = t.row_begin; r < t.row_end; ++r) {
    reference::load_row<Accumulate>(a.type, a.at(r, t.column_begin), a.stride(1), left);
    reference::load_row<Accumulate>(b.type, b.at(r, t.column_begin), b.stride(1), right);
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = f(left[i], right[i]);
    reference::store_row<Accumulate>(y.type, y.at(r, t.column_begin), y.stride(1), left);
  }
}

} // namespace mk::elementwise
