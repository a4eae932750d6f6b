#include <megakernels/ops/rms_norm/rms_norm.hpp>

#include "kit.hpp"

namespace mk {
namespace {

/// The formula in double; the divisor of each row is computed once.
class formula {
public:
  formula(kit::tensor const& x, kit::tensor const& weight, float epsilon) : x_(x), weight_(weight) {
    for (std::int64_t t = 0; t < x.extent(0); ++t) {
      double squares = 0;
      for (std::int64_t i = 0; i < x.extent(1); ++i) squares += x.get(t, i) * x.get(t, i);
      divisors_.push_back(std::sqrt(squares / static_cast<double>(x.extent(1)) + static_cast<double>(epsilon)));
    }
  }
  double operator()(std::int64_t t, std::int64_t i) const {
    double const normal = x_.get(t, i) / divisors_[static_cast<std::size_t>(t)];
    return weight_.present() ? normal * weight_.get(i) : normal;
  }

private:
  kit::tensor x_, weight_;
  std::vector<double> divisors_;
};

TEST(rms_norm, odd_and_wide_rows_of_every_type) {
  for (auto type : kit::floating_types)
    for (std::int64_t width : {1, 6, 33, 769, 3584}) {
      rms_norm::arguments const a{.epsilon = 1e-5f, .type = type};
      for (bool weighted : {false, true}) {
        auto const weight = weighted ? kit::uniform(data_type::bf16, {width}, 2) : kit::tensor{};
        kit::node<rms_norm> n(a, {{rms_norm::x, kit::uniform(type, {7, width}, 1, 3)}, {rms_norm::weight, weight}});
        formula const right(n[rms_norm::x], n[rms_norm::weight], a.epsilon);
        n.run();
        kit::expect_close(n[rms_norm::y], right, type == data_type::fp32 ? 4 : 1);
        n.run({.oracle = true});
        kit::expect_close(n[rms_norm::y], right, 1);
      }
    }
}

TEST(rms_norm, a_row_too_wide_for_any_scratch_memory_of_a_gpu) {
  rms_norm::arguments const a{.type = data_type::bf16};
  kit::node<rms_norm> n(a, {{rms_norm::x, kit::uniform(data_type::bf16, {2, 100000}, 1)}});
  n.run();
  kit::expect_close(n[rms_norm::y], formula(n[rms_norm::x], {}, a.epsilon), 1);
}

TEST(rms_norm, any_cut_and_a_row_alone_give_the_same_bits) {
  auto const x = kit::uniform(data_type::fp16, {7, 769}, 1);
  rms_norm::arguments const a{.type = data_type::fp32};
  kit::node<rms_norm> n(a, {{rms_norm::x, x}, {rms_norm::weight, kit::uniform(data_type::fp16, {769}, 2)}});
  kit::expect_same_bits_for_any_cut(n, rms_norm::y);
  for (std::int64_t t : {0, 3, 6}) {
    kit::node<rms_norm> one(a, {{rms_norm::x, x.slice(0, t, t + 1)}, {rms_norm::weight, n[rms_norm::weight]}});
    one.run();
    EXPECT_EQ(one[rms_norm::y].bits(), n[rms_norm::y].slice(0, t, t + 1).bits());
  }
}

TEST(rms_norm, columns_of_a_wider_tensor) {
  auto const fused = kit::uniform(data_type::bf16, {5, 700}, 1);
  auto const target = kit::blank(data_type::bf16, {5, 50});
  rms_norm::arguments const a{.type = data_type::bf16};
  kit::node<rms_norm> n(a, {{rms_norm::x, fused.slice(1, 256, 289)}, {rms_norm::y, target.slice(1, 9, 42)}});
  kit::node<rms_norm> dense(a, {{rms_norm::x, fused.slice(1, 256, 289).copy()}});
  n.run();
  dense.run();
  EXPECT_EQ(n[rms_norm::y].bits(), dense[rms_norm::y].bits());
  for (std::int64_t t = 0; t < 5; ++t)
    for (std::int64_t i : {0, 8, 42, 49}) EXPECT_TRUE(std::isnan(target.get(t, i)));
}

TEST(rms_norm, squares_beyond_half_precision) {
  kit::node<rms_norm> n({.epsilon = 0, .type = data_type::fp16},
                        {{rms_norm::x, kit::constant(data_type::fp16, {1, 64}, 60000)}});
  n.run();
  for (double v : n[rms_norm::y].numbers()) EXPECT_EQ(v, 1);
}

TEST(rms_norm, no_rows_and_no_width) {
  kit::node<rms_norm> none({}, {{rms_norm::x, kit::blank(data_type::bf16, {0, 7168})}});
  none.run();
  kit::node<rms_norm> narrow({}, {{rms_norm::x, kit::blank(data_type::bf16, {3, 0})}});
  narrow.run();
  EXPECT_EQ(narrow[rms_norm::y].extent(0), 3);
}

TEST(rms_norm, refusals) {
  auto const x = kit::blank(data_type::bf16, {3, 8});
  auto const of = [&](rms_norm::arguments const& a, kit::tensor const& weight) {
    return kit::refusal<rms_norm>(a, {{rms_norm::x, x}, {rms_norm::weight, weight}});
  };
  kit::expect_mentions(of({}, kit::blank(data_type::bf16, {9})), {"weight", "9", "8"});
  kit::expect_mentions(of({}, kit::blank(data_type::int8, {8})), {"weight", "int8"});
  kit::expect_mentions(of({.epsilon = -1}, {}), {"epsilon", "-1"});
  kit::expect_mentions(of({.epsilon = NAN}, {}), {"epsilon", "nan"});
  kit::expect_mentions(of({.type = data_type::int8}, {}), {"type", "5"});
}

} // namespace
} // namespace mk
