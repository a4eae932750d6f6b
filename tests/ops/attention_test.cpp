#include <megakernels/ops/attention/attention.hpp>
#include <megakernels/ops/merge/merge.hpp>

#include "declared.hpp"
#include "paged.hpp"

namespace mk {
namespace {

using kit::paged_batch;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// All scores equal, value j is j + 1: the output is the mean of the visible ones.
paged_batch equal_scores(kit::paged_shape const& shape, std::vector<kit::ragged> const& sequences) {
  paged_batch b(shape, sequences, data_type::bf16);
  b.q.each([](std::byte* to) { kit::put_number(data_type::bf16, to, 0); });
  for (std::size_t s = 0; s < sequences.size(); ++s)
    for (int p = 0; p < sequences[s].keys; ++p)
      for (int h = 0; h < shape.kv_heads; ++h)
        for (int i = 0; i < shape.head_dim; ++i)
          kit::put_number(data_type::bf16, b.key(b.v, static_cast<std::int64_t>(s), p, h, i), p + 1);
  return b;
}

TEST(attention, causal_mask_aligns_the_last_query_with_the_last_key) {
  auto const b = equal_scores({.block_size = 4}, {{2, 5}, {5, 2}, {1, 5}});
  auto n = b.make(b.arguments(0.125f));
  double const means[] = {2.5, 3, 0, 0, 0, 1, 1.5, 3};
  double const keys[] = {4, 5, 0, 0, 0, 1, 2, 5};
  for (bool oracle : {false, true}) {
    n.run({.oracle = oracle});
    for (int row = 0; row < 8; ++row) {
      EXPECT_NEAR(n[attention::o].get(row, 17), means[row], 1e-6);
      if (keys[row] == 0) {
        EXPECT_EQ(n[attention::o].get(row, 63), 0);
        EXPECT_EQ(n[attention::lse].get(row, 0), -infinity);
      } else {
        EXPECT_NEAR(n[attention::lse].get(row, 0), std::log(keys[row]), 1e-6);
      }
    }
  }
}

TEST(attention, more_queries_than_keys_over_pages) {
  auto const b = equal_scores({.heads = 2, .kv_heads = 2, .head_dim = 128}, {{48, 16}});
  auto n = b.make(b.arguments(0.0884f, data_type::bf16));
  n.run();
  for (int row = 0; row < 48; ++row)
    for (int head = 0; head < 2; ++head) {
      int const keys = row - 31;
      EXPECT_EQ(n[attention::o].get(row, head * 128 + 5), keys > 0 ? (keys + 1) / 2.0 : 0);
      EXPECT_EQ(n[attention::lse].get(row, head), keys > 0 ? static_cast<float>(std::log(keys)) : -infinity) << keys;
    }
}

TEST(attention, scores_far_below_zero) {
  for (float magnitude : {512.0f, 30000.0f}) {
    paged_batch b({.head_dim = 128}, {{1, 3}}, data_type::bf16);
    for (auto const* t : {&b.q, &b.k}) t->each([](std::byte* to) { kit::put_number(data_type::bf16, to, 0); });
    b.q.set(448, 0, 0);
    b.q.set(1, 0, 1);
    for (int j = 0; j < 3; ++j) {
      kit::put_number(data_type::bf16, b.key(b.k, 0, j, 0, 0), -magnitude);
      kit::put_number(data_type::bf16, b.key(b.k, 0, j, 0, 1), 8 * j);
      for (int i = 0; i < 128; ++i) kit::put_number(data_type::bf16, b.key(b.v, 0, j, 0, i), i == j ? 1 : 0);
    }
    auto n = b.make(b.arguments(0.08838834764f));
    for (bool oracle : {false, true}) {
      n.run({.oracle = oracle});
      EXPECT_EQ(n[attention::o].get(0, 3), 0);
      if (magnitude > 512) continue;
      double const weights[] = {0.14003, 0.28400, 0.57598};
      for (int j = 0; j < 3; ++j) EXPECT_NEAR(n[attention::o].get(0, j), weights[j], oracle ? 1e-5 : 5e-3);
      EXPECT_NEAR(n[attention::lse].get(0, 0), -20272.1997, 5e-3);
    }
  }
}

TEST(attention, products_over_the_range_of_fp16) {
  paged_batch b({.head_dim = 128}, {{1, 20}}, data_type::fp16);
  for (auto const* t : {&b.q, &b.k}) t->each([](std::byte* to) { kit::put_number(data_type::fp16, to, 40); });
  double mean = 0;
  for (int j = 0; j < 20; ++j) mean += kit::number_at(data_type::fp16, b.key(b.v, 0, j, 0, 7)) / 20;
  auto n = b.make(b.arguments(1));
  n.run();
  EXPECT_NEAR(n[attention::o].get(0, 7), mean, 1e-6);
  EXPECT_NEAR(n[attention::lse].get(0, 0), 204800 + std::log(20), 0.02);
}

TEST(attention, ragged_batch_with_an_empty_sequence) {
  paged_batch const b({.heads = 9, .kv_heads = 3}, {{1, 3}, {0, 0}, {1, 5}}, data_type::bf16);
  for (auto type : {data_type::fp32, data_type::bf16, data_type::fp16}) {
    auto const a = b.arguments(1, type);
    auto n = b.make(a);
    n.run();
    kit::expect_attention(b, n, a);
  }
}

TEST(attention, square_and_causal_at_ragged_lengths) {
  for (int length : {1, 15, 17, 63, 65, 100, 127, 129})
    for (int head_dim : {64, 128}) {
      paged_batch const b({.head_dim = head_dim, .block_size = 7}, {{length, length}}, data_type::bf16);
      auto const a = b.arguments(0.125f, data_type::bf16);
      auto n = b.make(a);
      n.run();
      kit::expect_attention(b, n, a);
    }
}

TEST(attention, no_rows_no_sequences_no_blocks) {
  paged_batch const none({}, {}, data_type::bf16);
  none.make(none.arguments(1)).run();
  paged_batch const no_queries({}, {{0, 5}}, data_type::bf16);
  no_queries.make(no_queries.arguments(1)).run();

  paged_batch const no_keys({}, {{1, 0}, {1, 0}}, data_type::bf16);
  EXPECT_EQ(no_keys.block_table.extent(1), 0);
  auto n = no_keys.make(no_keys.arguments(1, data_type::bf16));
  n.check();
  n.run();
  for (double value : n[attention::o].numbers()) EXPECT_EQ(value, 0);
  for (double value : n[attention::lse].numbers()) EXPECT_EQ(value, -infinity);

  paged_batch const mixed({.heads = 4, .kv_heads = 2}, {{1, 0}, {1, 1}, {1, 0}, {1, 64}, {1, 65}}, data_type::bf16);
  auto const a = mixed.arguments(0.125f);
  auto m = mixed.make(a);
  m.check();
  m.run();
  kit::expect_attention(mixed, m, a);
}

TEST(attention, padding_rows_are_zero) {
  paged_batch const b({.heads = 2, .padding_rows = 3}, {{1, 9}, {1, 0}, {1, 4}, {1, 5}, {1, 1}}, data_type::fp16);
  auto const a = b.arguments(0.125f, data_type::fp16);
  auto n = b.make(a);
  n.check();
  n.run();
  kit::expect_attention(b, n, a);
  for (int row = 5; row < 8; ++row) EXPECT_EQ(n[attention::o].get(row, 127), 0);
}

TEST(attention, any_ratio_of_heads_and_any_head_dim) {
  int const heads[][2] = {{9, 3}, {24, 4}, {28, 4}, {40, 8}, {64, 4}, {7, 7}, {8, 1}};
  for (auto const& [query_heads, kv_heads] : heads) {
    paged_batch b({.heads = query_heads, .kv_heads = kv_heads, .head_dim = 12}, {{1, 37}, {5, 37}}, data_type::bf16);
    for (std::int64_t s = 0; s < 2; ++s)
      for (int p = 0; p < 37; ++p)
        for (int h = 0; h < kv_heads; ++h)
          for (int i = 0; i < 12; ++i) kit::put_number(data_type::bf16, b.key(b.v, s, p, h, i), h + 1);
    auto n = b.make(b.arguments(0.3f));
    n.run();
    for (int row = 0; row < 6; ++row)
      for (int h = 0; h < query_heads; ++h)
        EXPECT_NEAR(n[attention::o].get(row, h * 12 + 11), h * kv_heads / query_heads + 1, 1e-5);
  }
  for (int head_dim : {1, 4, 36, 46, 64, 72, 80, 96, 112, 128, 192, 256, 1024}) {
    paged_batch const b({.heads = 3, .head_dim = head_dim}, {{1, 37}, {5, 37}}, data_type::bf16);
    auto const a = b.arguments(0.2f);
    auto n = b.make(a);
    n.run();
    kit::expect_attention(b, n, a);
  }
}

TEST(attention, data_types_strides_and_cuts) {
  for (auto type : kit::floating_types)
    for (int causal : {0, 1}) {
      paged_batch b({.heads = 6, .kv_heads = 3, .head_dim = 20, .block_size = 5, .padding_rows = 1},
                    {{3, 17}, {1, 64}, {2, 1}, {9, 9}, {1, 129}}, type);
      auto const a = b.arguments(0.4f, data_type::fp32, causal);
      auto dense = b.make(a);
      dense.run({.oracle = true});
      kit::expect_attention(b, dense, a);
      dense.run();
      kit::expect_attention(b, dense, a);
      kit::expect_same_bits_for_any_cut(dense, attention::o);
      kit::expect_same_bits_for_any_cut(dense, attention::lse);

      // q in the middle of a fused tensor, keys and values interleaved in one pool.
      auto fused = kit::blank(type, {b.q.extent(0), 200}).slice(1, 31, 151);
      for (std::int64_t i = 0; i < b.q.extent(0); ++i)
        for (std::int64_t j = 0; j < 120; ++j)
          std::memcpy(fused.at(i, j), b.q.at(i, j), static_cast<std::size_t>(bytes_of(type)));
      auto pool = kit::blank(type, {b.k.extent(0), 5, 6, 21});
      auto const keys = pool.slice(2, 0, 3).slice(3, 1, 21), values = pool.slice(2, 3, 6).slice(3, 0, 20);
      auto const copy = [&](kit::tensor const& from, kit::tensor const& to) {
        std::size_t at = 0;
        auto const bits = from.bits();
        to.each([&](std::byte* element) {
          std::memcpy(element, bits.data() + at, static_cast<std::size_t>(bytes_of(type)));
          at += static_cast<std::size_t>(bytes_of(type));
        });
      };
      copy(b.k, keys);
      copy(b.v, values);
      b.q = fused, b.k = keys, b.v = values;
      auto sliced = b.make(a);
      sliced.run({.rows = 2, .columns = 2});
      EXPECT_EQ(sliced[attention::o].bits(), dense[attention::o].bits());
    }
}

TEST(attention, a_row_does_not_depend_on_its_batch) {
  kit::paged_shape const shape{.heads = 4, .kv_heads = 2, .head_dim = 32, .blocks_per_sequence = 9};
  paged_batch const b(shape, {{1, 30}, {2, 130}, {1, 77}}, data_type::bf16);
  auto all = b.make(b.arguments(0.2f));
  all.run();
  for (std::int64_t row = 0; row < 4; ++row) {
    auto one = b;
    one.q = b.q.slice(0, row, row + 1);
    one.sequence = b.sequence.slice(0, row, row + 1);
    one.position = b.position.slice(0, row, row + 1);
    auto n = one.make(b.arguments(0.2f));
    n.run();
    EXPECT_EQ(n[attention::o].bits(), all[attention::o].slice(0, row, row + 1).bits());
  }
}

TEST(attention, splits_merge_to_the_whole) {
  for (int splits : {2, 3, 9, 11}) {
    paged_batch const b({.heads = 6, .kv_heads = 3, .head_dim = 40, .blocks_per_sequence = 9, .padding_rows = 1},
                        {{1, 1}, {1, 2}, {3, 17}, {1, 144}, {4, 2}}, data_type::bf16);
    auto const a = b.arguments(0.3f);
    auto const parts_arguments = b.arguments(0.3f, data_type::bf16, 1, splits);
    auto parts = b.make(parts_arguments);
    parts.run({.rows = 3, .columns = 2});
    int const share = (9 + splits - 1) / splits * 16;
    for (int s = 0; s < splits; ++s)
      for (int row = 0; row < 11; ++row)
        for (int head = 0; head < 6; ++head) {
          auto const right = kit::plain_attention(b, a, row, head, s * share, (s + 1) * share);
          EXPECT_NEAR(parts[attention::o].get(s, row, head * 40 + 39), right.o[39], 2e-6);
          if (right.lse == -infinity)
            EXPECT_EQ(parts[attention::lse].get(s, row, head), -infinity);
          else
            EXPECT_NEAR(parts[attention::lse].get(s, row, head), right.lse, 2e-6);
        }
    kit::expect_same_bits_for_any_cut(parts, attention::o);
    kit::expect_same_bits_for_any_cut(parts, attention::lse);

    kit::node<merge> merged({.heads = 6, .type = data_type::fp32},
                            {{merge::o, parts[attention::o]}, {merge::lse, parts[attention::lse]}},
                            {merge::merged_lse});
    merged.run();
    auto whole = b.make(a);
    whole[attention::o] = merged[merge::y];
    whole[attention::lse] = merged[merge::merged_lse];
    kit::expect_attention(b, whole, a);
  }
}

TEST(attention, tasks_write_what_they_declare) {
  paged_batch const b({.heads = 6, .kv_heads = 3, .head_dim = 4, .blocks_per_sequence = 4}, {{2, 40}, {2, 3}},
                      data_type::bf16);
  for (int splits : {1, 4}) {
    auto const a = b.arguments(0.3f, data_type::fp32, 1, splits);
    auto n = b.make(a);
    for (std::int64_t first = 0; first < 3 * splits; ++first)
      for (std::int64_t last = first + 1; last <= 3 * splits; ++last)
        kit::expect_writes_are_declared(n, a, {1, 3, first, last}, {attention::o, attention::lse});
  }
}

TEST(attention, live_rows_and_sequences) {
  paged_batch b({.heads = 2, .padding_rows = 2}, {{1, 20}, {1, 3}}, data_type::bf16);
  auto const a = b.arguments(0.2f);
  auto full = b.make(a);
  full.run();
  for (auto* t : {&b.q, &b.sequence, &b.position}) *t = t->live(0, 0);
  for (auto* t : {&b.length, &b.block_table}) *t = t->live(0, 1);
  auto n = b.make(a);
  n.check({1, 1});
  n.run({}, {1, 1});
  EXPECT_EQ(n[attention::o].slice(0, 0, 1).bits(), full[attention::o].slice(0, 0, 1).bits());
  for (double untouched : n[attention::o].slice(0, 1, 4).numbers()) EXPECT_TRUE(std::isnan(untouched));
}

TEST(attention, nan_stays_in_its_row_and_head) {
  paged_batch const b({.heads = 2, .head_dim = 8}, {{3, 40}}, data_type::fp32);
  auto n = b.make(b.arguments(1));
  n.run();
  auto const good = n[attention::o].numbers();
  double const before = b.q.get(1, 9);
  b.q.set(NAN, 1, 9);
  n.run();
  auto const bad = n[attention::o].numbers();
  for (std::size_t i = 0; i < bad.size(); ++i) {
    if (i >= 24 && i < 32)
      EXPECT_TRUE(std::isnan(bad[i]));
    else
      EXPECT_EQ(bad[i], good[i]);
  }
  EXPECT_TRUE(std::isnan(n[attention::lse].get(1, 1)));

  // A value of the last token, which row 2 alone sees.
  b.q.set(before, 1, 9);
  kit::put_number(data_type::fp32, b.key(b.v, 0, 39, 0, 3), INFINITY);
  n.run();
  EXPECT_EQ(n[attention::o].get(2, 3), INFINITY);
  EXPECT_EQ(n[attention::o].get(1, 3), good[19]);
}

} // namespace
} // namespace mk
