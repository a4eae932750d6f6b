#include <megakernels/ops/linear/linear.hpp>

#include "kit.hpp"

namespace mk {
namespace {

using kit::tensor;

double silu(double v) { return v / (1 + std::exp(-v)); }

/// The formula in double, from the definition.
double expected(kit::node<linear>& n, linear::arguments const& a, std::int64_t t, std::int64_t c) {
  auto const product = [&](int weight, int scale) {
    double sum = 0;
    for (std::int64_t k = 0; k < n[linear::x].extent(1); ++k) sum += n[linear::x].get(t, k) * n[weight].get(c, k);
    return n[scale].present() ? sum * n[scale].get(c) : sum;
  };
  double p = product(linear::weight, linear::scale);
  if (n[linear::bias].present()) p += n[linear::bias].get(c);
  if (a.activation == linear::silu) p = silu(p);
  if (n[linear::up].present()) p *= product(linear::up, linear::up_scale);
  if (n[linear::residual].present()) p += n[linear::residual].get(t, c);
  return p;
}

std::vector<std::pair<int, tensor>> operands(data_type x, data_type weight, std::int64_t rows, std::int64_t inner,
                                             std::int64_t columns) {
  return {{linear::x, kit::integers(x, {rows, inner}, -3, 3, 1)},
          {linear::weight, kit::integers(weight, {columns, inner}, -3, 3, 2)}};
}

/// Integers in -3 .. 3 and inner up to 513: all sums are exact in fp32.
TEST(linear, odd_sizes_are_exact_with_integers) {
  linear::arguments const a{.type = data_type::fp32};
  for (std::int64_t rows : {1, 3, 33})
    for (std::int64_t columns : {1, 3, 33, 511})
      for (std::int64_t inner : {1, 3, 33, 511, 513}) {
        kit::node<linear> n(a, operands(data_type::bf16, data_type::bf16, rows, inner, columns));
        n.run();
        kit::expect_close(n[linear::y], [&](auto t, auto c) { return expected(n, a, t, c); }, 0);
      }
}

TEST(linear, every_type_of_x_weight_and_y) {
  for (auto x : kit::floating_types)
    for (auto weight :
         {data_type::fp32, data_type::bf16, data_type::fp16, data_type::e4m3, data_type::e5m2, data_type::int8})
      for (auto y : kit::floating_types)
        for (std::int64_t rows : {1, 5}) {
          linear::arguments const a{.type = y};
          kit::node<linear> n(a, operands(x, weight, rows, 50, 19));
          for (bool oracle : {false, true}) {
            n[linear::y].storage->poison();
            n.run({.oracle = oracle});
            kit::expect_close(n[linear::y], [&](auto t, auto c) { return kit::rounded(y, expected(n, a, t, c)); }, 0);
          }
        }
}

/// The weight's rows further apart than they are long, at addresses that are not multiples of anything.
TEST(linear, strides_and_addresses_are_free) {
  linear::arguments const a{.type = data_type::bf16};
  for (std::int64_t shift : {2, 4, 8})
    for (std::int64_t pitch : {33, 34, 40}) {
      auto const x = kit::blank(data_type::bf16, {5, pitch}, shift);
      auto const w = kit::blank(data_type::bf16, {19, pitch}, shift);
      kit::random r(3);
      for (auto const& t : {x, w})
        t.slice(1, 0, 33).each(
            [&](std::byte* to) { kit::put_number(data_type::bf16, to, static_cast<double>(r.integer(-3, 3))); });
      auto const y = kit::blank(data_type::bf16, {5, 30}, shift).slice(1, 4, 23);
      kit::node<linear> n(a, {{linear::x, x.slice(1, 0, 33)}, {linear::weight, w.slice(1, 0, 33)}, {linear::y, y}});
      n.run();
      kit::expect_close(y, [&](auto t, auto c) { return kit::rounded(data_type::bf16, expected(n, a, t, c)); }, 0);
      for (std::byte const* at = y.at(1, 18) + 2; at < y.at(2, 0); ++at) EXPECT_EQ(*at, std::byte{0xFF});
    }
}

TEST(linear, a_transposed_weight_has_the_bits_of_a_dense_copy) {
  linear::arguments const a{.type = data_type::fp32};
  for (std::int64_t rows : {1, 4}) {
    auto const x = kit::uniform(data_type::bf16, {rows, 70}, 1);
    auto const turned = kit::uniform(data_type::bf16, {70, 21}, 2).transposed();
    kit::node<linear> n(a, {{linear::x, x}, {linear::weight, turned}});
    kit::node<linear> dense(a, {{linear::x, x}, {linear::weight, turned.copy()}});
    n.run();
    dense.run();
    EXPECT_EQ(n[linear::y].bits(), dense[linear::y].bits());
  }
}

/// All that is optional, in all combinations.
TEST(linear, epilogues) {
  for (int mask = 0; mask < 64; ++mask) {
    auto const has = [&](int bit) { return (mask >> bit & 1) != 0; };
    if (has(5) && !has(4)) continue; // up_scale needs up
    linear::arguments const a{.type = data_type::fp32, .activation = has(0) || has(4) ? linear::silu : 0};
    auto given = operands(data_type::bf16, data_type::int8, 3, 40, 21);
    if (has(1)) given.emplace_back(linear::bias, kit::uniform(data_type::fp16, {21}, 3));
    if (has(2)) given.emplace_back(linear::residual, kit::uniform(data_type::bf16, {3, 21}, 4));
    if (has(3)) given.emplace_back(linear::scale, kit::uniform(data_type::fp32, {21}, 5, 0.01));
    if (has(4)) given.emplace_back(linear::up, kit::integers(data_type::e4m3, {21, 40}, -3, 3, 6));
    if (has(5)) given.emplace_back(linear::up_scale, kit::uniform(data_type::fp32, {21}, 7, 0.01));
    kit::node<linear> n(a, given);
    n.run();
    auto const right = [&](auto t, auto c) { return expected(n, a, t, c); };
    kit::expect_close(n[linear::y], right, 8, 2e-5);
    n.run({.oracle = true});
    kit::expect_close(n[linear::y], right, 1, 1e-12);
    kit::expect_same_bits_for_any_cut(n, linear::y);
  }
}

TEST(linear, any_cut_of_the_grid_and_any_number_of_rows_give_the_same_bits) {
  for (auto weight :
       {data_type::fp32, data_type::bf16, data_type::fp16, data_type::e4m3, data_type::e5m2, data_type::int8}) {
    linear::arguments const a{.type = data_type::fp32};
    auto const x = kit::uniform(data_type::fp32, {13, 203}, 1);
    auto const w =
        weight == data_type::int8 ? kit::integers(weight, {75, 203}, -128, 127, 2) : kit::uniform(weight, {75, 203}, 2);
    kit::node<linear> n(a, {{linear::x, x}, {linear::weight, w}});
    kit::expect_same_bits_for_any_cut(n, linear::y);
    kit::node<linear> one(a, {{linear::x, x.slice(0, 7, 8)}, {linear::weight, w}});
    one.run();
    EXPECT_EQ(one[linear::y].bits(), n[linear::y].slice(0, 7, 8).bits());
  }
}

TEST(linear, bad_rows_do_not_touch_others) {
  auto const x = kit::uniform(data_type::fp32, {9, 64}, 1);
  auto const w = kit::uniform(data_type::bf16, {16, 64}, 2);
  linear::arguments const a{.type = data_type::fp32};
  kit::node<linear> n(a, {{linear::x, x}, {linear::weight, w}});
  n.run();
  auto const good = n[linear::y].copy();
  x.set(NAN, 4, 5);
  x.set(INFINITY, 5, 63);
  kit::expect_same_bits_for_any_cut(n, linear::y);
  for (std::int64_t r : {0, 3, 6, 8}) EXPECT_EQ(n[linear::y].slice(0, r, r + 1).bits(), good.slice(0, r, r + 1).bits());
  for (std::int64_t c = 0; c < 16; ++c) EXPECT_TRUE(std::isnan(n[linear::y].get(4, c)));
}

TEST(linear, no_rows_no_columns_and_no_terms) {
  for (auto const& [rows, columns] : {std::pair{0, 16}, {16, 0}, {0, 0}}) {
    kit::node<linear> n({}, operands(data_type::bf16, data_type::bf16, rows, 32, columns));
    n.run();
  }
  for (auto const& [rows, columns] : {std::pair{16, 16}, {17, 33}}) {
    auto given = operands(data_type::bf16, data_type::bf16, rows, 0, columns);
    kit::node<linear> n({.type = data_type::bf16}, given);
    n.run();
    for (double v : n[linear::y].numbers()) EXPECT_EQ(v, 0);
    given.emplace_back(linear::residual, kit::constant(data_type::bf16, {rows, columns}, 1));
    kit::node<linear> rest({.type = data_type::bf16}, given);
    rest.run();
    EXPECT_EQ(rest[linear::y].bits(), rest[linear::residual].bits());
  }
}

TEST(linear, an_output_full_of_nan_leaves_no_trace) {
  kit::node<linear> n({}, operands(data_type::bf16, data_type::bf16, 16, 64, 16));
  n.run();
  auto const poisoned = n[linear::y].bits();
  std::fill_n(n[linear::y].data(), n[linear::y].storage->size(), std::byte{});
  n.run();
  EXPECT_EQ(n[linear::y].bits(), poisoned);
}

TEST(linear, long_sums_do_not_stop_counting) {
  auto const product = [](data_type type, std::int64_t inner, double value, data_type y) {
    kit::node<linear> n({.type = y}, {{linear::x, kit::constant(type, {1, inner}, value)},
                                      {linear::weight, kit::constant(type, {1, inner}, value)}});
    n.run();
    return n[linear::y].get(0, 0);
  };
  EXPECT_EQ(product(data_type::fp16, 4096, 1, data_type::fp32), 4096);
  EXPECT_EQ(product(data_type::fp16, 4096, 1, data_type::fp16), 4096);
  EXPECT_EQ(product(data_type::fp16, 1024, 16, data_type::fp32), 262144);
  EXPECT_EQ(product(data_type::bf16, 1024, 16, data_type::bf16), 262144);
  EXPECT_EQ(product(data_type::fp16, 1024, 16, data_type::fp16), INFINITY);

  auto const x = kit::blank(data_type::fp16, {1, 3 * 128 + 1});
  double const cycle[] = {2048, 1, -2048};
  for (std::int64_t k = 0; k < x.extent(1); ++k) x.set(cycle[k % 3], 0, k);
  kit::node<linear> n({}, {{linear::x, x}, {linear::weight, kit::constant(data_type::fp16, {1, x.extent(1)}, 1)}});
  n.run();
  EXPECT_EQ(n[linear::y].get(0, 0), 128 + 2048);
}

TEST(linear, rows_may_be_live) {
  auto const x = kit::integers(data_type::bf16, {8, 40}, -3, 3, 1).live(0, 0);
  auto const w = kit::integers(data_type::bf16, {20, 40}, -3, 3, 2);
  linear::arguments const a{.type = data_type::fp32};
  kit::node<linear> n(a, {{linear::x, x}, {linear::weight, w}});
  EXPECT_TRUE(n[linear::y].desc.extents[0].is_live());
  n.run({}, {3});
  for (std::int64_t c = 0; c < 20; ++c) EXPECT_TRUE(std::isnan(n[linear::y].get(3, c)));
  n[linear::y].desc.extents[0] = {.capacity = 3};
  kit::expect_close(n[linear::y], [&](auto t, auto c) { return expected(n, a, t, c); }, 0);
}

TEST(linear, regions_are_what_a_task_touches) {
  auto given = operands(data_type::bf16, data_type::bf16, 10, 40, 64);
  given.emplace_back(linear::residual, kit::constant(data_type::bf16, {10, 64}, 1));
  kit::node<linear> n({}, given);
  auto const regions = n.regions({2, 5, 16, 48});
  ASSERT_EQ(regions.size(), 4u);
  for (auto const& r : regions) {
    bool const has_rows = r.operand != linear::weight, has_columns = r.operand != linear::x;
    EXPECT_EQ(r.write, r.operand == linear::y);
    EXPECT_EQ(r.where.begin[0], has_rows ? 2 : 16);
    EXPECT_EQ(r.where.end[0], has_rows ? 5 : 48);
    EXPECT_EQ(r.where.begin[1], has_rows && has_columns ? 16 : 0);
    EXPECT_EQ(r.where.end[1], has_rows && has_columns ? 48 : 40);
  }
}

/// Shapes may come from a corrupted file: descriptions alone, there is no memory of that size.
TEST(linear, an_output_too_large_to_address_is_refused) {
  kit::tensor x, w;
  x.desc = {
      .type = data_type::bf16, .rank = 2, .extents = {extent{std::int64_t(1) << 40}, extent{4}}, .strides = {4, 1}};
  w.desc = {
      .type = data_type::bf16, .rank = 2, .extents = {extent{std::int64_t(1) << 22}, extent{4}}, .strides = {4, 1}};
  kit::expect_mentions(kit::refusal<linear>({}, {{linear::x, x}, {linear::weight, w}}), {"2^63", "4194304"});
}

TEST(linear, refusals) {
  auto const x = kit::blank(data_type::bf16, {4, 32}), w = kit::blank(data_type::bf16, {16, 32});
  auto const of = [&](linear::arguments const& a, std::vector<std::pair<int, tensor>> more) {
    std::vector<std::pair<int, tensor>> given{{linear::x, x}, {linear::weight, w}};
    for (auto const& m : more) given.push_back(m);
    return kit::refusal<linear>(a, given);
  };
  linear::arguments const gated{.activation = linear::silu};
  kit::expect_mentions(of({}, {{linear::weight, kit::blank(data_type::bf16, {16, 33})}}), {"weight", "33", "32"});
  kit::expect_mentions(of({}, {{linear::weight, kit::blank(data_type::int32, {16, 32})}}), {"weight", "int32"});
  kit::expect_mentions(of({}, {{linear::x, kit::blank(data_type::int8, {4, 32})}}), {"x", "int8"});
  kit::expect_mentions(of({}, {{linear::x, kit::blank(data_type::bf16, {32})}}), {"x", "1 axes", "2"});
  kit::expect_mentions(of({}, {{linear::up, w}}), {"activation", "0", "1 (silu)"});
  kit::expect_mentions(of(gated, {{linear::up, kit::blank(data_type::bf16, {17, 32})}}), {"up", "17", "16"});
  kit::expect_mentions(of({}, {{linear::up_scale, kit::blank(data_type::fp32, {16})}}), {"up_scale", "without up"});
  kit::expect_mentions(of({}, {{linear::scale, kit::blank(data_type::bf16, {16})}}), {"scale", "bf16", "fp32"});
  kit::expect_mentions(of({}, {{linear::bias, kit::blank(data_type::bf16, {15})}}), {"bias", "15", "16"});
  kit::expect_mentions(of({}, {{linear::residual, kit::blank(data_type::bf16, {4, 17})}}), {"residual", "17", "16"});
  kit::expect_mentions(of({}, {{linear::residual, kit::blank(data_type::bf16, {5, 16})}}), {"residual", "5", "4"});
  kit::expect_mentions(of({.activation = 2}, {}), {"activation", "2"});
  kit::expect_mentions(of({.type = static_cast<data_type>(77)}, {}), {"type", "77"});
  kit::expect_mentions(of({.type = data_type::int32}, {}), {"type", "6"});
}

} // namespace
} // namespace mk
