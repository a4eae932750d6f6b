#include <megakernels/ops/linear/linear.hpp>

namespace mk {
namespace {

/// What one of the two products needs: the weight has the shape of the first, its scale one number a column.
void expect_weight(shape_query const& q, int weight, int scale) {
  q.expect_rank(weight, 2);
  q.expect_type(weight,
                {data_type::fp32, data_type::bf16, data_type::fp16, data_type::e4m3, data_type::e5m2, data_type::int8});
  q.expect_same(weight, 1, linear::x, 1);
  q.expect_same(weight, 0, linear::weight, 0);
  if (!q.present(scale)) return;
  q.expect_rank(scale, 1);
  q.expect_type(scale, {data_type::fp32});
  q.expect_same(scale, 0, linear::weight, 0);
}

} // namespace

std::vector<output_shape> linear::infer(arguments const& a, shape_query const& q) {
  q.expect_rank(x, 2);
  q.expect_floating(x);
  expect_weight(q, weight, scale);
  q.expect_argument(a.activation == no_activation || a.activation == silu, "activation", a.activation,
                    "0 (none) or 1 (silu)");
  if (q.present(up)) {
    expect_weight(q, up, up_scale);
    q.expect_argument(a.activation == silu, "activation", a.activation, "1 (silu), since up is present");
  } else if (q.present(up_scale)) {
    q.fail(up_scale, "is present without up");
  }
  if (q.present(bias)) {
    q.expect_rank(bias, 1);
    q.expect_floating(bias);
    q.expect_same(bias, 0, weight, 0);
  }
  if (q.present(residual)) {
    q.expect_rank(residual, 2);
    q.expect_floating(residual);
    q.expect_same(residual, 0, x, 0);
    q.expect_same(residual, 1, weight, 0);
  }
  q.expect_floating_argument(a.type, "type");
  return {q.make(a.type, {{x, 0}, {weight, 0}})};
}

work_shape linear::work(arguments const&, std::span<tensor_desc const> o) {
  return {.rows = o[y].extents[0], .columns = o[y].extents[1].capacity, .column_granule = 16};
}

void linear::regions(arguments const&, std::span<tensor_desc const> o, task const& t, region_list& r) {
  auto const present = [&](int slot) { return o[static_cast<std::size_t>(slot)].rank >= 0; };
  r.read(x).along(0, t.row_begin, t.row_end);
  for (int slot : {weight, up, bias, scale, up_scale})
    if (present(slot)) r.read(slot).along(0, t.column_begin, t.column_end);
  if (present(residual)) r.read(residual).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
  r.write(y).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
}

cost linear::cost_of(arguments const&, std::span<tensor_desc const> o, task const& t) {
  auto const number = [](std::int64_t n) { return static_cast<double>(n); };
  auto const rows = number(t.row_end - t.row_begin), columns = number(t.column_end - t.column_begin);
  auto const inner = number(o[x].extents[1].capacity);
  cost result{.bytes = rows * inner * number(bytes_of(o[x].type)) + rows * columns * number(bytes_of(o[y].type)),
              .operations = 0};
  for (auto const& w : {o[weight], o[up]}) {
    if (w.rank < 0) continue;
    result.bytes += columns * inner * number(bytes_of(w.type));
    result.operations += 2 * rows * columns * inner;
  }
  for (auto const& v : {o[bias], o[scale], o[up_scale]})
    if (v.rank >= 0) result.bytes += columns * number(bytes_of(v.type));
  if (o[residual].rank >= 0) result.bytes += rows * columns * number(bytes_of(o[residual].type));
  return result;
}

} // namespace mk
