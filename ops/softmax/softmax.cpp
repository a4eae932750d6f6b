#include <megakernels/ops/reference/exponential.hpp>
#include <megakernels/ops/reference/rows.hpp>
#include <megakernels/ops/softmax/softmax.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mk {
namespace {

/// exp(2 (scale * (v / 2 - m / 2))), m the largest v, in place of exp(scale * v - scale * m): the same number, and
/// neither a product nor the difference of two large numbers overflows to what has no value.
template <class Accumulate> void softmax_of_row(std::span<Accumulate> row, Accumulate scale) {
  constexpr auto infinity = std::numeric_limits<Accumulate>::infinity();
  Accumulate largest = -infinity;
  bool refused = false;
  for (auto& v : row) {
    if (scale < 0) v = -v;
    refused = refused || std::isnan(v) || v == infinity || (scale == 0 && std::isinf(v));
    largest = std::max(largest, v);
  }
  if (refused) return std::fill(row.begin(), row.end(), std::numeric_limits<Accumulate>::quiet_NaN());
  if (largest == -infinity) return std::fill(row.begin(), row.end(), Accumulate(0));

  for (auto& v : row) v = reference::exponential(2 * (std::abs(scale) * (v / 2 - largest / 2)));
  auto const sum = reference::sum<Accumulate>(static_cast<std::int64_t>(row.size()),
                                              [&](std::int64_t i) { return row[static_cast<std::size_t>(i)]; });
  for (auto& v : row) v /= sum;
}

} // namespace

std::vector<output_shape> softmax::infer(arguments const& a, shape_query const& q) {
  q.expect_rank(x, 2);
  q.expect_floating(x);
  q.expect_argument(std::isfinite(a.scale), "scale", a.scale, "a finite number");
  q.expect_floating_argument(a.type, "type");
  return {q.make(a.type, {{x, 0}, {x, 1}})};
}

work_shape softmax::work(arguments const&, std::span<tensor_desc const> o) { return {.rows = o[x].extents[0]}; }

void softmax::regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
  r.read(x).along(0, t.row_begin, t.row_end);
  r.write(y).along(0, t.row_begin, t.row_end);
}

cost softmax::cost_of(arguments const&, std::span<tensor_desc const> o, task const& t) {
  auto const elements = static_cast<double>(t.row_end - t.row_begin) * static_cast<double>(o[x].extents[1].capacity);
  return {.bytes = elements * static_cast<double>(bytes_of(o[x].type) + bytes_of(o[y].type)),
          .operations = 5 * elements};
}

template <class Accumulate> void softmax::reference(arguments const& a, std::span<tensor_view const> o, task const& t) {
  if (o[x].extent(1) == 0) return;
  auto const row = reference::scratch<Accumulate>(o[x].extent(1));
  for (auto r = t.row_begin; r < t.row_end; ++r) {
    reference::load_row<Accumulate>(o[x].type, o[x].at(r), o[x].stride(1), row);
    softmax_of_row<Accumulate>(row, static_cast<Accumulate>(a.scale));
    reference::store_row<Accumulate>(o[y].type, o[y].at(r), o[y].stride(1), row);
  }
}

template void softmax::reference<float>(arguments const&, std::span<tensor_view const>, task const&);
template void softmax::reference<double>(arguments const&, std::span<tensor_view const>, task const&);

} // namespace mk
