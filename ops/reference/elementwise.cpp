#include <megakernels/ops/reference/elementwise.hpp>

namespace mk::elementwise {

std::vector<output_shape> infer(data_type type, shape_query const& q, int a, int b) {
  for (int slot : {a, b}) {
    q.expect_rank(slot, 2);
    q.expect_floating(slot);
  }
  q.expect_same(b, 0, a, 0);
  q.expect_same(b, 1, a, 1);
  q.expect_floating_argument(type, "type");
  return {q.make(type, {{a, 0}, {a, 1}})};
}

work_shape work(tensor_desc const& y) {
  return {.rows = y.extents[0], .columns = y.extents[1].capacity, .column_granule = 64};
}

void regions(task const& t, region_list& r, int a, int b, int y) {
  for (int slot : {a, b}) r.read(slot).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
  r.write(y).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
}

cost cost_of(std::span<tensor_desc const> o, task const& t, double operations) {
  auto const elements =
      static_cast<double>(t.row_end - t.row_begin) * static_cast<double>(t.column_end - t.column_begin);
  std::int64_t bytes = 0;
  for (auto const& desc : o) bytes += bytes_of(desc.type);
  return {.bytes = elements * static_cast<double>(bytes), .operations = operations * elements};
}

} // namespace mk::elementwise
