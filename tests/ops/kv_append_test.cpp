#include <megakernels/ops/kv_append/kv_append.hpp>

#include "declared.hpp"

namespace mk {
namespace {

/// Five rows for three sequences, tables of 2 columns, 7 blocks of 4 tokens.
struct append_case {
  kit::tensor k, v, k_cache, v_cache;
  kit::tensor sequence = kit::values(data_type::int32, {5}, {0, 0, 2, -1, 1});
  kit::tensor position = kit::values(data_type::int32, {5}, {3, 4, 7, 0, -2});
  kit::tensor block_table = kit::values(data_type::int32, {3, 2}, {6, 1, 0, -5, 1 << 30, 2});

  explicit append_case(data_type type = data_type::bf16, data_type cache_type = data_type::bf16,
                       std::int64_t kv_heads = 3, std::int64_t head_dim = 46)
      : k(kit::integers(type, {5, kv_heads * head_dim}, -3, 3, 1)),
        v(kit::integers(type, {5, kv_heads * head_dim}, -3, 3, 2)),
        k_cache(kit::blank(cache_type, {7, 4, kv_heads, head_dim})),
        v_cache(kit::blank(cache_type, {7, 4, kv_heads, head_dim})) {}

  std::vector<std::pair<int, kit::tensor>> operands() const {
    return {{kv_append::k, k},
            {kv_append::v, v},
            {kv_append::k_cache, k_cache},
            {kv_append::v_cache, v_cache},
            {kv_append::sequence, sequence},
            {kv_append::position, position},
            {kv_append::block_table, block_table}};
  }
  kit::node<kv_append> make() const { return {{}, operands()}; }
  std::string refused() const {
    auto const n = make();
    n.run();
    return kit::message_of<submit_error>([&] { n.check(); });
  }
};

/// Rows 0 to 2 go to (block, slot); everything else of the cache keeps its bytes FF.
void expect_appended(append_case const& c) {
  std::int64_t const places[3][2] = {{6, 3}, {1, 0}, {2, 3}};
  for (auto const& [from, cache] : {std::pair(c.k, c.k_cache), {c.v, c.v_cache}}) {
    auto const kv_heads = cache.extent(2), head_dim = cache.extent(3);
    std::size_t written = 0;
    for (int row = 0; row < 3; ++row)
      for (std::int64_t h = 0; h < kv_heads; ++h)
        for (std::int64_t i = 0; i < head_dim; ++i, ++written)
          EXPECT_EQ(cache.get(places[row][0], places[row][1], h, i), from.get(row, h * head_dim + i));
    std::size_t untouched = 0;
    cache.each([&](std::byte const* at) {
      bool all = true;
      for (std::int64_t i = 0; i < bytes_of(cache.desc.type); ++i) all &= at[i] == std::byte{0xFF};
      untouched += all ? 1 : 0;
    });
    EXPECT_EQ(untouched + written, static_cast<std::size_t>(7 * 4 * kv_heads * head_dim));
  }
}

TEST(kv_append, every_pair_of_data_types_and_any_cut) {
  for (auto type : kit::floating_types)
    for (auto cache_type : kit::floating_types)
      for (kit::cut const& cut : {kit::cut{}, kit::cut{.columns = 1, .backwards = true}, kit::cut{.oracle = true}}) {
        append_case const c(type, cache_type);
        auto const n = c.make();
        n.check();
        n.run(cut);
        expect_appended(c);
      }
}

TEST(kv_append, slices_of_fused_tensors) {
  append_case c;
  auto const fused = kit::integers(data_type::bf16, {5, 777}, -3, 3, 3);
  auto const pool = kit::blank(data_type::bf16, {7, 4, 6, 47}, 2);
  c.k = fused.slice(1, 301, 301 + 138);
  c.v = fused.slice(1, 439, 439 + 138);
  c.k_cache = pool.slice(2, 0, 3).slice(3, 1, 47);
  c.v_cache = pool.slice(2, 3, 6).slice(3, 0, 46);
  auto const before = fused.bits();
  c.make().run();
  expect_appended(c);
  EXPECT_EQ(fused.bits(), before);
  std::size_t written = 0;
  pool.each([&](std::byte const* at) { written += at[0] == std::byte{0xFF} && at[1] == std::byte{0xFF} ? 0 : 1; });
  EXPECT_EQ(written, 2u * 3 * 3 * 46);
}

TEST(kv_append, tasks_write_within_what_they_declare) {
  append_case const c;
  auto n = c.make();
  for (auto const& r : n.regions({0, 5, 1, 2})) {
    if (!r.write) continue;
    EXPECT_EQ(r.where.begin[2], 1);
    EXPECT_EQ(r.where.end[2], 2);
  }
  EXPECT_FALSE(n.work().rows_divisible);
  EXPECT_EQ(n.work().columns, 3);
}

TEST(kv_append, check_of_contents) {
  append_case const good;
  good.make().check();

  append_case full;
  full.position.set(8, 2);
  kit::expect_mentions(full.refused(), {"append to a full cache", "row 2", "sequence 2", "is 8", "less than 8"});
  full.position.set(INT32_MAX, 2);
  kit::expect_mentions(full.refused(), {"is 2147483647"});

  append_case foreign;
  foreign.sequence.set(3, 4);
  kit::expect_mentions(foreign.refused(), {"sequence of row 4 is 3", "-1 (padding) to 2"});

  for (double block : {-1.0, 7.0, 1073741824.0}) {
    append_case outside;
    outside.block_table.set(block, 2, 1);
    kit::expect_mentions(outside.refused(), {"block_table of sequence 2, column 1 is", "0 to 6"});
  }

  append_case twice;
  twice.position.set(4, 0);
  kit::expect_mentions(twice.refused(), {"rows 0 and 1 both write block 1, slot 0"});
  append_case shared; // two sequences may not append to one block's slot either
  shared.block_table.set(6, 2, 1);
  shared.position.set(7, 2);
  kit::expect_mentions(shared.refused(), {"rows 0 and 2 both write block 6, slot 3"});
}

TEST(kv_append, a_refused_row_changes_nothing) {
  append_case c;
  c.sequence = kit::values(data_type::int32, {5}, {3, INT32_MIN, 0, 2, 1});
  c.position = kit::values(data_type::int32, {5}, {0, 0, 8, 0, 4});
  c.make().run();
  for (auto const& cache : {c.k_cache, c.v_cache})
    for (auto byte : cache.bits()) EXPECT_EQ(byte, std::byte{0xFF});
}

TEST(kv_append, many_rows_are_checked_quickly) {
  constexpr std::int64_t rows = 200000;
  append_case c(data_type::fp32, data_type::fp32, 1, 1);
  c.k = kit::constant(data_type::fp32, {rows, 1}, 1);
  c.v = c.k;
  c.k_cache = kit::blank(data_type::fp32, {rows, 1, 1, 1});
  c.v_cache = kit::blank(data_type::fp32, {rows, 1, 1, 1});
  c.sequence = kit::constant(data_type::int32, {rows}, 0);
  double next = 0;
  c.position = kit::generate(data_type::int32, {rows}, [&] { return next++; });
  c.block_table = kit::generate(data_type::int32, {1, rows}, [&] { return --next; });
  c.make().check();
  c.position.set(0, rows - 1);
  kit::expect_mentions(kit::message_of<submit_error>([&] { c.make().check(); }), {"rows 0 and 199999"});
}

TEST(kv_append, no_rows_no_blocks) {
  append_case c;
  for (auto* t : {&c.k, &c.v, &c.sequence, &c.position}) *t = t->slice(0, 0, 0);
  auto const n = c.make();
  n.check();
  n.run();
  append_case none;
  none.k_cache = none.k_cache.slice(0, 0, 0);
  none.v_cache = none.v_cache.slice(0, 0, 0);
  none.make().run();
}

TEST(kv_append, refused_shapes) {
  append_case const c;
  auto const with = [&](int slot, kit::tensor const& t) {
    auto operands = c.operands();
    operands[static_cast<std::size_t>(slot)].second = t;
    return kit::refusal<kv_append>({}, operands);
  };
  kit::expect_mentions(with(kv_append::k, c.k.slice(1, 0, 137)), {"k: axis 1", "137", "138", "kv_heads * head_dim"});
  kit::expect_mentions(with(kv_append::v, c.v.slice(0, 0, 4)), {"v: axis 0", "4", "5"});
  kit::expect_mentions(with(kv_append::v_cache, c.v_cache.slice(0, 0, 6)), {"v_cache: axis 0", "6", "7"});
  kit::expect_mentions(with(kv_append::position, kit::blank(data_type::int32, {5, 1})), {"position", "2 axes"});
  kit::expect_mentions(with(kv_append::block_table, kit::blank(data_type::fp32, {3, 2})), {"block_table", "fp32"});
  kit::expect_mentions(kit::refusal<kv_append>({.reserved = 5}, c.operands()), {"reserved is 5"});
}

} // namespace
} // namespace mk
