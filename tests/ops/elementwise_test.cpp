#include <megakernels/ops/add/add.hpp>
#include <megakernels/ops/silu_mul/silu_mul.hpp>

#include "kit.hpp"

namespace mk {
namespace {

double silu_product(double gate, double up) { return gate / (1 + std::exp(-gate)) * up; }

TEST(silu_mul, odd_widths_of_every_type) {
  for (auto type : kit::floating_types)
    for (std::int64_t width : {3420, 1234, 6, 1}) {
      auto const gate = kit::uniform(type, {7, width}, 1, 6), up = kit::uniform(type, {7, width}, 2, 3);
      kit::node<silu_mul> n({.type = type}, {{silu_mul::gate, gate}, {silu_mul::up, up}});
      auto const right = [&](auto t, auto i) { return kit::rounded(type, silu_product(gate.get(t, i), up.get(t, i))); };
      n.run();
      kit::expect_close(n[silu_mul::y], right, type == data_type::fp32 ? 6 : 1);
      n.run({.oracle = true});
      kit::expect_close(n[silu_mul::y], right, 1);
      kit::expect_same_bits_for_any_cut(n, silu_mul::y);
      kit::node<silu_mul> one({.type = type},
                              {{silu_mul::gate, gate.slice(0, 3, 4)}, {silu_mul::up, up.slice(0, 3, 4)}});
      one.run();
      EXPECT_EQ(one[silu_mul::y].bits(), n[silu_mul::y].slice(0, 3, 4).bits());
    }
}

TEST(silu_mul, far_from_zero) {
  auto const gate = kit::values(data_type::fp32, {1, 6}, {-1e30f, -200, -50, 50, 200, 1e30f});
  kit::node<silu_mul> n({}, {{silu_mul::gate, gate}, {silu_mul::up, kit::constant(data_type::fp32, {1, 6}, 1)}});
  n.run();
  double const right[] = {0, 0, -50 * std::exp(-50.0), 50, 200, static_cast<double>(1e30f)};
  kit::expect_close(n[silu_mul::y], [&](auto, auto i) { return right[i]; }, 4);
}

TEST(add, every_type_of_both_and_of_the_sum) {
  for (auto left : kit::floating_types)
    for (auto right : kit::floating_types)
      for (auto sum : kit::floating_types) {
        auto const a = kit::integers(left, {5, 71}, -8, 8, 1), b = kit::integers(right, {5, 71}, -8, 8, 2);
        kit::node<add> n({.type = sum}, {{add::a, a}, {add::b, b}});
        n.run();
        kit::expect_close(n[add::y], [&](auto t, auto i) { return kit::rounded(sum, a.get(t, i) + b.get(t, i)); }, 0);
        kit::expect_same_bits_for_any_cut(n, add::y);
      }
}

TEST(add, columns_of_wider_tensors_and_turned_ones) {
  auto const wide = kit::uniform(data_type::bf16, {6, 40}, 1);
  auto const target = kit::blank(data_type::bf16, {6, 20});
  auto const a = wide.slice(1, 3, 9), b = wide.slice(1, 20, 26).transposed();
  kit::node<add> n({.type = data_type::bf16}, {{add::a, a}, {add::b, b}, {add::y, target.slice(1, 7, 13)}});
  n.run();
  kit::expect_close(
      n[add::y], [&](auto t, auto i) { return kit::rounded(data_type::bf16, a.get(t, i) + b.get(t, i)); }, 0);
  for (std::int64_t t = 0; t < 6; ++t)
    for (std::int64_t i : {0, 6, 13, 19}) EXPECT_TRUE(std::isnan(target.get(t, i)));
}

TEST(add, in_place) {
  auto const a = kit::integers(data_type::bf16, {4, 100}, -8, 8, 1),
             b = kit::integers(data_type::bf16, {4, 100}, -8, 8, 2);
  auto const before = a.copy();
  kit::node<add> n({.type = data_type::bf16}, {{add::a, a}, {add::b, b}, {add::y, a}});
  n.run({.rows = 1, .columns = 64});
  kit::expect_close(a, [&](auto t, auto i) { return before.get(t, i) + b.get(t, i); }, 0);
}

template <class Op> void expect_nothing_to_do(int first, int second) {
  for (auto const& [rows, width] : {std::pair{0, 33}, {3, 0}}) {
    auto const x = kit::blank(data_type::bf16, {rows, width});
    kit::node<Op> n({}, {{first, x}, {second, x}});
    n.run();
  }
}

TEST(add, no_rows_and_no_width) { expect_nothing_to_do<add>(add::a, add::b); }
TEST(silu_mul, no_rows_and_no_width) { expect_nothing_to_do<silu_mul>(silu_mul::gate, silu_mul::up); }

TEST(add, refusals) {
  auto const x = kit::blank(data_type::bf16, {3, 8});
  auto const of = [&](add::arguments const& a, kit::tensor const& b) {
    return kit::refusal<add>(a, {{add::a, x}, {add::b, b}});
  };
  kit::expect_mentions(of({}, kit::blank(data_type::bf16, {3, 9})), {"b", "9", "8"});
  kit::expect_mentions(of({}, kit::blank(data_type::bf16, {4, 8})), {"b", "4", "3"});
  kit::expect_mentions(of({}, x.live(0, 0)), {"b", "live", "3"});
  kit::expect_mentions(of({}, kit::blank(data_type::int32, {3, 8})), {"b", "int32"});
  kit::expect_mentions(of({.type = data_type::int8}, x), {"type", "5"});
}

TEST(silu_mul, refusals) {
  auto const x = kit::blank(data_type::bf16, {3, 8});
  kit::expect_mentions(
      kit::refusal<silu_mul>({}, {{silu_mul::gate, x}, {silu_mul::up, kit::blank(data_type::bf16, {3, 9})}}),
      {"up", "9", "8"});
}

} // namespace
} // namespace mk
