#include <megakernels/ops/softmax/softmax.hpp>

#include "kit.hpp"

#include <limits>

namespace mk {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Two passes in double.
std::vector<double> expected(std::vector<double> row, double scale) {
  double largest = -infinity, sum = 0;
  for (auto& v : row) largest = std::max(largest, v *= scale);
  for (auto& v : row) sum += v = std::exp(v - largest);
  for (auto& v : row) v /= sum;
  return row;
}

void expect_rows(kit::node<softmax>& n, float scale, std::int64_t ulps, double slack) {
  auto const& x = n[softmax::x];
  for (std::int64_t t = 0; t < x.extent(0); ++t) {
    auto const right = expected(x.slice(0, t, t + 1).numbers(), static_cast<double>(scale));
    kit::expect_close(
        n[softmax::y].slice(0, t, t + 1), [&](auto, auto i) { return right[static_cast<std::size_t>(i)]; }, ulps,
        slack);
  }
}

TEST(softmax, odd_widths_scales_and_every_type) {
  for (auto type : kit::floating_types)
    for (std::int64_t width : {1, 2, 31, 33, 1000})
      for (float scale : {1.0f, 0.125f, -3.0f, 0.0f}) {
        kit::node<softmax> n({.scale = scale, .type = type}, {{softmax::x, kit::uniform(type, {7, width}, 1, 8)}});
        n.run();
        expect_rows(n, scale, type == data_type::fp32 ? 16 : 1, 1e-12);
        n.run({.oracle = true});
        expect_rows(n, scale, 1, 1e-12);
        kit::expect_same_bits_for_any_cut(n, softmax::y);
      }
}

TEST(softmax, rows_without_an_ordinary_answer) {
  for (auto type : {data_type::fp32, data_type::bf16, data_type::fp16}) {
    std::int64_t const width = 33;
    double const lowest = type == data_type::fp16 ? -65504 : type == data_type::bf16 ? -0x1.FEp127 : -0x1.FFFFFEp127;
    auto const x = kit::constant(type, {7, width}, 0);
    for (std::int64_t i = 0; i < width; ++i) {
      x.set(-infinity, 0, i);
      x.set(i == 20 ? 0 : -infinity, 1, i);
      x.set(lowest, 2, i);
      x.set(i == 0 ? 88.8f : i == 1 ? 89 : i == 2 ? 1000 : 0, 3, i);
      x.set(static_cast<double>(i % 5), 6, i);
    }
    x.set(NAN, 4, 7);
    x.set(infinity, 5, 7);
    kit::node<softmax> n({.type = data_type::fp32}, {{softmax::x, x}});
    for (bool oracle : {false, true}) {
      n.run({.oracle = oracle});
      auto const& y = n[softmax::y];
      auto const ordinary = expected(x.slice(0, 6, 7).numbers(), 1);
      for (std::int64_t i = 0; i < width; ++i) {
        EXPECT_EQ(y.get(0, i), 0);
        EXPECT_EQ(y.get(1, i), i == 20 ? 1 : 0);
        EXPECT_EQ(y.get(2, i), kit::rounded(data_type::fp32, static_cast<float>(1.0 / 33)));
        EXPECT_EQ(y.get(3, i), i == 2 ? 1 : 0);
        EXPECT_TRUE(std::isnan(y.get(4, i)));
        EXPECT_TRUE(std::isnan(y.get(5, i)));
        EXPECT_NEAR(y.get(6, i), ordinary[static_cast<std::size_t>(i)], 1e-7);
      }
    }
  }
}

TEST(softmax, numbers_at_the_ends_of_fp32) {
  double const most = 0x1.FFFFFEp127;
  auto const x = kit::values(data_type::fp32, {2, 3}, {most, -most, most, 1, 2, -infinity});
  for (float scale : {0.5f, 1.0f, 3e38f, 1e-38f}) {
    kit::node<softmax> n({.scale = scale}, {{softmax::x, x}});
    n.run();
    bool const flat = scale == 1e-38f;
    EXPECT_NEAR(n[softmax::y].get(0, 0), flat ? 0.4997 : 0.5, 1e-3);
    EXPECT_NEAR(n[softmax::y].get(0, 1), 0, 1e-3);
    EXPECT_EQ(n[softmax::y].get(1, 2), 0);
  }
  // 0 times infinity has no value.
  kit::node<softmax> zero({.scale = 0}, {{softmax::x, x}});
  zero.run();
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(zero[softmax::y].get(0, i), 1.0 / 3, 1e-7);
    EXPECT_TRUE(std::isnan(zero[softmax::y].get(1, i)));
  }
}

TEST(softmax, no_rows_no_width_and_slices) {
  for (auto const& [rows, width] : {std::pair{0, 33}, {3, 0}}) {
    kit::node<softmax> n({}, {{softmax::x, kit::blank(data_type::bf16, {rows, width})}});
    n.run();
  }
  auto const wide = kit::uniform(data_type::bf16, {4, 50}, 1);
  auto const x = wide.slice(1, 7, 40), turned = wide.slice(1, 7, 40).transposed();
  for (auto const& t : {x, turned}) {
    kit::node<softmax> n({}, {{softmax::x, t}}), dense({}, {{softmax::x, t.copy()}});
    n.run();
    dense.run();
    EXPECT_EQ(n[softmax::y].bits(), dense[softmax::y].bits());
  }
}

TEST(softmax, refusals) {
  auto const of = [](softmax::arguments const& a, kit::tensor const& x) {
    return kit::refusal<softmax>(a, {{softmax::x, x}});
  };
  auto const x = kit::blank(data_type::bf16, {3, 8});
  kit::expect_mentions(of({.scale = NAN}, x), {"scale", "nan"});
  kit::expect_mentions(of({.scale = INFINITY}, x), {"scale", "inf"});
  kit::expect_mentions(of({.type = data_type::int32}, x), {"type", "6"});
  kit::expect_mentions(of({}, kit::blank(data_type::int8, {3, 8})), {"x", "int8"});
  kit::expect_mentions(of({}, kit::blank(data_type::bf16, {8})), {"x", "1 axes"});
}

} // namespace
} // namespace mk
