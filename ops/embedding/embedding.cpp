#include <megakernels/ops/embedding/embedding.hpp>
#include <megakernels/ops/error.hpp>
#include <megakernels/ops/reference/rows.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace mk {
namespace {

std::int32_t id_of_row(tensor_view const& ids, std::int64_t row) {
  std::int32_t id;
  std::memcpy(&id, ids.at(row), sizeof id);
  return id;
}

} // namespace

std::vector<output_shape> embedding::infer(arguments const& a, shape_query const& q) {
  q.expect_rank(table, 2);
  q.expect_floating(table);
  q.expect_rank(ids, 1);
  q.expect_type(ids, {data_type::int32});
  q.expect_floating_argument(a.type, "type");
  return {q.make(a.type, {{ids, 0}, {table, 1}})};
}

work_shape embedding::work(arguments const&, std::span<tensor_desc const> o) {
  return {.rows = o[y].extents[0], .columns = o[y].extents[1].capacity, .column_granule = 64};
}

void embedding::regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
  r.read(table).along(1, t.column_begin, t.column_end);
  r.read(ids).along(0, t.row_begin, t.row_end);
  r.write(y).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
}

cost embedding::cost_of(arguments const&, std::span<tensor_desc const> o, task const& t) {
  auto const elements =
      static_cast<double>(t.row_end - t.row_begin) * static_cast<double>(t.column_end - t.column_begin);
  return {.bytes = elements * static_cast<double>(bytes_of(o[table].type) + bytes_of(o[y].type)), .operations = 0};
}

template <class Accumulate> void embedding::reference(arguments const&, std::span<tensor_view const> o, task const& t) {
  auto const count = std::min(t.column_end, o[y].extent(1)) - t.column_begin;
  if (count <= 0) return;
  auto const row = reference::scratch<Accumulate>(count);
  for (auto r = t.row_begin; r < t.row_end; ++r) {
    auto const id = id_of_row(o[ids], r);
    if (id >= 0 && id < o[table].extent(0))
      reference::load_row<Accumulate>(o[table].type, o[table].at(id, t.column_begin), o[table].stride(1), row);
    else
      std::fill(row.begin(), row.end(), Accumulate(0));
    reference::store_row<Accumulate>(o[y].type, o[y].at(r, t.column_begin), o[y].stride(1), row);
  }
}

void embedding::check(arguments const&, std::span<tensor_view const> o) {
  if (o[ids].data == nullptr) return;
  for (std::int64_t r = 0; r < o[ids].extent(0); ++r) {
    auto const id = id_of_row(o[ids], r);
    if (id < 0 || id >= o[table].extent(0))
      throw submit_error("embedding: ids[" + std::to_string(r) + "] is " + std::to_string(id) +
                         ", the table has rows 0 to " + std::to_string(o[table].extent(0) - 1));
  }
}

template void embedding::reference<float>(arguments const&, std::span<tensor_view const>, task const&);
template void embedding::reference<double>(arguments const&, std::span<tensor_view const>, task const&);

} // namespace mk
