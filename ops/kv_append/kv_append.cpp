#include <megakernels/ops/error.hpp>
#include <megakernels/ops/kv_append/kv_append.hpp>
#include <megakernels/ops/paged_cache.hpp>
#include <megakernels/ops/reference/rows.hpp>

#include <algorithm>
#include <string>

namespace mk {

std::vector<output_shape> kv_append::infer(arguments const& a, shape_query const& query) {
  query.expect_argument(a.reserved == 0, "reserved", a.reserved, "0");
  query.expect_rank(k, 2);
  query.expect_floating(k);
  expect_paged_cache(query, {.k_cache = k_cache, .v_cache = v_cache, .block_table = block_table});
  auto const width = query.axis(k_cache, 2).capacity * query.axis(k_cache, 3).capacity;
  query.expect_extent(k, 1, {.capacity = width}, "kv_heads * head_dim of the cache");
  query.expect_rank(v, 2);
  query.expect_floating(v);
  query.expect_same(v, 0, k, 0);
  query.expect_same(v, 1, k, 1);
  expect_index_table(query, sequence, k, 0);
  expect_index_table(query, position, k, 0);
  return {};
}

work_shape kv_append::work(arguments const&, std::span<tensor_desc const> o) {
  return {.rows = o[k].extents[0], .columns = o[k_cache].extents[2].capacity, .rows_divisible = false};
}

void kv_append::regions(arguments const&, std::span<tensor_desc const> o, task const& t, region_list& r) {
  auto const head_dim = o[k_cache].extents[3].capacity;
  for (int from : {k, v})
    r.read(from).along(0, t.row_begin, t.row_end).along(1, t.column_begin * head_dim, t.column_end * head_dim);
  for (int to : {k_cache, v_cache}) r.write(to).along(2, t.column_begin, t.column_end);
  for (int table : {sequence, position}) r.read(table).along(0, t.row_begin, t.row_end);
  r.read(block_table);
}

cost kv_append::cost_of(arguments const&, std::span<tensor_desc const> o, task const& t) {
  auto const elements = static_cast<double>(t.row_end - t.row_begin) *
                        static_cast<double>(t.column_end - t.column_begin) *
                        static_cast<double>(o[k_cache].extents[3].capacity);
  double bytes = 0;
  for (auto const& operand : o.first(sequence)) bytes += elements * static_cast<double>(bytes_of(operand.type));
  return {.bytes = bytes, .operations = 0};
}

template <class Accumulate> void kv_append::reference(arguments const&, std::span<tensor_view const> o, task const& t) {
  paged_cache const cache(o[k_cache], o[block_table]);
  auto const element = reference::scratch<Accumulate>(cache.head_dim);
  auto const copy_head = [&](std::size_t from, std::size_t to, std::int64_t row, std::int64_t head, std::int64_t block,
                             std::int64_t slot) {
    reference::load_row<Accumulate>(o[from].type, o[from].at(row, head * cache.head_dim), o[from].stride(1), element);
    reference::store_row<Accumulate>(o[to].type, o[to].at(block, slot, head), o[to].stride(3), element);
  };
  for (auto row = t.row_begin; row < t.row_end; ++row) {
    std::int64_t const owner = index_at(o[sequence], row);
    std::int64_t const at = index_at(o[position], row);
    if (!cache.has_sequence(owner) || at < 0 || at >= cache.capacity()) continue;
    auto const block = cache.block_of(o[block_table], owner, at / cache.block_size);
    if (block < 0) continue;
    for (auto head = t.column_begin; head < t.column_end; ++head) {
      copy_head(k, k_cache, row, head, block, at % cache.block_size);
      copy_head(v, v_cache, row, head, block, at % cache.block_size);
    }
  }
}

void kv_append::check(arguments const&, std::span<tensor_view const> o) {
  paged_cache const cache(o[k_cache], o[block_table]);
  if (o[sequence].data == nullptr) return;
  check_sequences(name, o[sequence], cache.sequences);
  if (o[position].data == nullptr) return;

  struct write {
    std::int64_t slot;
    std::int64_t row;
    auto operator<=>(write const&) const = default;
  };
  std::vector<write> writes;
  for (std::int64_t row = 0; row < o[sequence].extent(0); ++row) {
    std::int64_t const owner = index_at(o[sequence], row);
    std::int64_t const at = index_at(o[position], row);
    if (owner < 0 || at < 0) continue;
    if (at >= cache.capacity())
      throw submit_error("kv_append: append to a full cache: position of row " + std::to_string(row) + " (sequence " +
                         std::to_string(owner) + ") is " + std::to_string(at) + ", expected less than " +
                         std::to_string(cache.capacity()));
    if (o[block_table].data == nullptr) continue;
    check_block(name, cache, o[block_table], owner, at / cache.block_size);
    auto const block = cache.block_of(o[block_table], owner, at / cache.block_size);
    writes.push_back({block * cache.block_size + at % cache.block_size, row});
  }
  std::sort(writes.begin(), writes.end());
  auto const twice =
      std::adjacent_find(writes.begin(), writes.end(), [](write const& a, write const& b) { return a.slot == b.slot; });
  if (twice != writes.end())
    throw submit_error("kv_append: rows " + std::to_string(twice->row) + " and " + std::to_string(twice[1].row) +
                       " both write block " + std::to_string(twice->slot / cache.block_size) + ", slot " +
                       std::to_string(twice->slot % cache.block_size));
}

template void kv_append::reference<float>(arguments const&, std::span<tensor_view const>, task const&);
template void kv_append::reference<double>(arguments const&, std::span<tensor_view const>, task const&);

} // namespace mk
