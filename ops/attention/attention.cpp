#include <megakernels/ops/attention/attention.hpp>
#include <megakernels/ops/error.hpp>
#include <megakernels/ops/paged_cache.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace mk {
namespace {

/// Splits and heads of the cache that a run of columns covers, in boxes: part of a split, whole splits, part of one.
template <class F> void each_part(task const& t, std::int64_t kv_heads, F f) {
  auto column = t.column_begin;
  while (column < t.column_end) {
    auto const split = column / kv_heads;
    auto const head = column % kv_heads;
    auto const left = t.column_end - column;
    if (head == 0 && left >= kv_heads) {
      f(split, split + left / kv_heads, 0, kv_heads);
      column += left / kv_heads * kv_heads;
    } else {
      auto const count = std::min(left, kv_heads - head);
      f(split, split + 1, head, head + count);
      column += count;
    }
  }
}

} // namespace

static_assert(sizeof(attention::arguments) == 24, "no padding");

std::vector<output_shape> attention::infer(arguments const& a, shape_query const& query) {
  query.expect_argument(a.heads >= 1, "heads", a.heads, "1 or more");
  query.expect_argument(a.head_dim >= 1 && a.head_dim <= largest_head_dim, "head_dim", a.head_dim, "1 to 1024");
  query.expect_argument(a.causal == 0 || a.causal == 1, "causal", a.causal, "0 or 1");
  query.expect_argument(a.splits >= 1 && a.splits <= largest_splits, "splits", a.splits, "1 to 1024");
  query.expect_argument(std::isfinite(a.scale), "scale", static_cast<double>(a.scale), "a finite number");
  query.expect_floating_argument(a.type, "type");

  query.expect_rank(q, 2);
  query.expect_floating(q);
  extent const width{.capacity = std::int64_t{a.heads} * a.head_dim};
  query.expect_extent(q, 1, width, "heads * head_dim");
  expect_paged_cache(query, {.k_cache = k_cache, .v_cache = v_cache, .block_table = block_table});
  query.expect_extent(k_cache, 3, {.capacity = a.head_dim}, "argument head_dim");
  auto const kv_heads = query.axis(k_cache, 2).capacity;
  if (a.heads % kv_heads != 0)
    query.fail("argument heads is " + std::to_string(a.heads) + ", expected a multiple of the " +
               std::to_string(kv_heads) + " kv_heads of k_cache");
  expect_index_table(query, sequence, q, 0);
  expect_index_table(query, position, q, 0);
  expect_index_table(query, length, block_table, 0);

  auto const& rows = query.axis(q, 0);
  if (rows.capacity > (std::int64_t{1} << 60) / a.splits / width.capacity)
    query.fail(q, "o would have more than 2^60 elements");
  auto const state = [&](data_type type, extent const& last, std::string const& last_name) {
    if (a.splits == 1) return output_shape{dense(type, rows, last), {query.axis_name(q, 0), last_name}};
    return output_shape{dense(type, extent{.capacity = a.splits}, rows, last),
                        {"split", query.axis_name(q, 0), last_name}};
  };
  if (a.splits > 1 && !query.wanted(lse)) query.fail("splits is over 1, which needs the output lse");
  std::vector<output_shape> result{state(a.splits == 1 ? a.type : data_type::fp32, width, query.axis_name(q, 1))};
  if (query.wanted(lse)) result.push_back(state(data_type::fp32, {.capacity = a.heads}, "head"));
  return result;
}

work_shape attention::work(arguments const& a, std::span<tensor_desc const> operands) {
  return {.rows = operands[q].extents[0], .columns = operands[k_cache].extents[2].capacity * a.splits};
}

void attention::regions(arguments const& a, std::span<tensor_desc const> operands, task const& t, region_list& r) {
  auto const kv_heads = operands[k_cache].extents[2].capacity;
  std::int64_t const group = a.heads / kv_heads;
  std::int64_t const queries = group * a.head_dim; // elements of q that one head of the cache serves
  bool const one_split = t.column_begin / kv_heads == (t.column_end - 1) / kv_heads;
  auto const first = one_split ? t.column_begin % kv_heads : 0;
  auto const last = one_split ? first + t.column_end - t.column_begin : kv_heads;

  r.read(q).along(0, t.row_begin, t.row_end).along(1, first * queries, last * queries);
  for (int cache : {k_cache, v_cache}) r.read(cache).along(2, first, last);
  for (int table : {sequence, position}) r.read(table).along(0, t.row_begin, t.row_end);
  r.read(length);
  r.read(block_table);
  auto const write = [&](int slot, std::int64_t unit) {
    each_part(t, kv_heads, [&](std::int64_t s, std::int64_t s_end, std::int64_t h, std::int64_t h_end) {
      if (a.splits == 1)
        r.write(slot).along(0, t.row_begin, t.row_end).along(1, h * unit, h_end * unit);
      else
        r.write(slot).along(0, s, s_end).along(1, t.row_begin, t.row_end).along(2, h * unit, h_end * unit);
    });
  };
  write(o, queries);
  if (operands[lse].rank >= 0) write(lse, group);
}

cost attention::cost_of(arguments const& a, std::span<tensor_desc const> operands, task const& t) {
  auto const& cache = operands[k_cache].extents;
  auto const& table = operands[block_table].extents;
  auto const rows = static_cast<double>(t.row_end - t.row_begin);
  auto const heads = static_cast<double>(t.column_end - t.column_begin); // of the cache, splits counted apart
  auto const keys = static_cast<double>(table[1].capacity) * static_cast<double>(cache[1].capacity) / a.splits;
  auto const group = static_cast<double>(a.heads) / static_cast<double>(cache[2].capacity);
  auto const key_bytes =
      a.head_dim * static_cast<double>(bytes_of(operands[k_cache].type) + bytes_of(operands[v_cache].type));
  auto const query_bytes = a.head_dim * static_cast<double>(bytes_of(operands[q].type) + bytes_of(operands[o].type));
  auto const sequences = std::min(rows, static_cast<double>(table[0].capacity));
  return {.bytes = heads * (sequences * keys * key_bytes + rows * group * query_bytes),
          .operations = 4 * rows * heads * group * keys * a.head_dim};
}

void attention::check(arguments const&, std::span<tensor_view const> operands) {
  paged_cache const cache(operands[k_cache], operands[block_table]);
  if (operands[sequence].data != nullptr) check_sequences(name, operands[sequence], cache.sequences);
  if (operands[length].data == nullptr) return;
  for (std::int64_t s = 0; s < cache.sequences; ++s) {
    std::int64_t const keys = index_at(operands[length], s);
    if (keys < 0 || keys > cache.capacity())
      throw submit_error("attention: length of sequence " + std::to_string(s) + " is " + std::to_string(keys) +
                         ", expected 0 to " + std::to_string(cache.capacity()) + " (blocks_per_sequence * block_size)");
    if (operands[block_table].data == nullptr) continue;
    for (std::int64_t column = 0; column * cache.block_size < keys; ++column)
      check_block(name, cache, operands[block_table], s, column);
  }
}

} // namespace mk
