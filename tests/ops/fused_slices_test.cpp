/// Operations on slices of the output of one fused projection: 5 tokens of q 4 x 64, k 2 x 64, v 2 x 64, gate 96,
/// up 96.

#include <megakernels/ops/linear/linear.hpp>
#include <megakernels/ops/rms_norm/rms_norm.hpp>
#include <megakernels/ops/rope/rope.hpp>
#include <megakernels/ops/silu_mul/silu_mul.hpp>

#include "kit.hpp"

namespace mk {
namespace {

class fused_slices : public testing::Test {
protected:
  kit::tensor const fused = kit::uniform(data_type::bf16, {5, 704}, 1);
  kit::tensor const q = fused.slice(1, 0, 256), k = fused.slice(1, 256, 384);
  kit::tensor const gate = fused.slice(1, 512, 608), up = fused.slice(1, 608, 704);
};

TEST_F(fused_slices, rope_in_the_place_of_q) {
  auto const before = fused.copy();
  auto const where = kit::values(data_type::int32, {5}, {0, 1, 17, 100, 4000});
  rope::arguments const a{.head_dim = 64, .rotary_dim = 64, .type = data_type::bf16};
  kit::node<rope> dense(a, {{rope::x, q.copy()}, {rope::position, where}});
  dense.run();
  kit::node<rope> in_place(a, {{rope::x, q}, {rope::position, where}, {rope::y, q}});
  in_place.run();
  EXPECT_EQ(q.bits(), dense[rope::y].bits());
  EXPECT_EQ(fused.slice(1, 256, 704).bits(), before.slice(1, 256, 704).bits());
}

TEST_F(fused_slices, silu_mul_of_gate_and_up) {
  auto const before = fused.bits();
  kit::node<silu_mul> n({.type = data_type::bf16}, {{silu_mul::gate, gate}, {silu_mul::up, up}});
  kit::node<silu_mul> dense({.type = data_type::bf16}, {{silu_mul::gate, gate.copy()}, {silu_mul::up, up.copy()}});
  n.run();
  dense.run();
  EXPECT_EQ(n[silu_mul::y].bits(), dense[silu_mul::y].bits());
  EXPECT_EQ(fused.bits(), before);
}

TEST_F(fused_slices, rms_norm_of_k_into_another_slice) {
  auto const before = fused.copy();
  auto const v = fused.slice(1, 384, 512);
  kit::node<rms_norm> n({.type = data_type::bf16}, {{rms_norm::x, k}, {rms_norm::y, v}});
  kit::node<rms_norm> dense({.type = data_type::bf16}, {{rms_norm::x, k.copy()}});
  n.run();
  dense.run();
  EXPECT_EQ(v.bits(), dense[rms_norm::y].bits());
  EXPECT_EQ(fused.slice(1, 0, 384).bits(), before.slice(1, 0, 384).bits());
  EXPECT_EQ(fused.slice(1, 512, 704).bits(), before.slice(1, 512, 704).bits());
}

TEST_F(fused_slices, linear_from_and_into_slices) {
  auto const w = kit::uniform(data_type::bf16, {96, 128}, 2);
  auto const target = kit::blank(data_type::bf16, {5, 300});
  auto const out = target.slice(1, 100, 196);
  linear::arguments const a{.type = data_type::bf16};
  kit::node<linear> n(a, {{linear::x, k}, {linear::weight, w}, {linear::residual, gate}, {linear::y, out}});
  kit::node<linear> dense(a, {{linear::x, k.copy()}, {linear::weight, w}, {linear::residual, gate.copy()}});
  n.run({.rows = 2, .columns = 16});
  dense.run();
  EXPECT_EQ(out.bits(), dense[linear::y].bits());
  for (std::int64_t t = 0; t < 5; ++t)
    for (std::int64_t i : {0, 99, 196, 299}) EXPECT_TRUE(std::isnan(target.get(t, i)));
}

} // namespace
} // namespace mk
