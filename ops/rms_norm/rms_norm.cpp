#include <megakernels/ops/reference/rows.hpp>
#include <megakernels/ops/rms_norm/rms_norm.hpp>

#include <cmath>

namespace mk {

std::vector<output_shape> rms_norm::infer(arguments const& a, shape_query const& q) {
  q.expect_rank(x, 2);
  q.expect_floating(x);
  if (q.present(weight)) {
    q.expect_rank(weight, 1);
    q.expect_floating(weight);
    q.expect_same(weight, 0, x, 1);
  }
  q.expect_argument(a.epsilon >= 0, "epsilon", a.epsilon, "0 or more");
  q.expect_floating_argument(a.type, "type");
  return {q.make(a.type, {{x, 0}, {x, 1}})};
}

work_shape rms_norm::work(arguments const&, std::span<tensor_desc const> o) { return {.rows = o[x].extents[0]}; }

void rms_norm::regions(arguments const&, std::span<tensor_desc const> o, task const& t, region_list& r) {
  r.read(x).along(0, t.row_begin, t.row_end);
  if (o[weight].rank >= 0) r.read(weight);
  r.write(y).along(0, t.row_begin, t.row_end);
}

cost rms_norm::cost_of(arguments const&, std::span<tensor_desc const> o, task const& t) {
  auto const elements = static_cast<double>(t.row_end - t.row_begin) * static_cast<double>(o[x].extents[1].capacity);
  return {.bytes = elements * static_cast<double>(bytes_of(o[x].type) + bytes_of(o[y].type)),
          .operations = 4 * elements};
}

template <class Accumulate>
void rms_norm::reference(arguments const& a, std::span<tensor_view const> o, task const& t) {
  auto const width = o[x].extent(1);
  if (width == 0) return;
  auto const row = reference::scratch<Accumulate>(width);
  auto const gain = reference::scratch<Accumulate, 1>(width);
  if (o[weight].present())
    reference::load_row<Accumulate>(o[weight].type, o[weight].data, o[weight].stride(0), gain);
  else
    std::fill(gain.begin(), gain.end(), Accumulate(1));

  for (auto r = t.row_begin; r < t.row_end; ++r) {
    reference::load_row<Accumulate>(o[x].type, o[x].at(r), o[x].stride(1), row);
    auto const squares = reference::sum<Accumulate>(width, [&](std::int64_t i) {
      auto const value = row[static_cast<std::size_t>(i)];
      return value * value;
    });
    auto const scale = 1 / std::sqrt(squares / static_cast<Accumulate>(width) + static_cast<Accumulate>(a.epsilon));
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = row[i] * scale * gain[i];
    reference::store_row<Accumulate>(o[y].type, o[y].at(r), o[y].stride(1), row);
  }
}

template void rms_norm::reference<float>(arguments const&, std::span<tensor_view const>, task const&);
template void rms_norm::reference<double>(arguments const&, std::span<tensor_view const>, task const&);

} // namespace mk
