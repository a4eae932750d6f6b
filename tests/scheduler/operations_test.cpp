#include <megakernels/ops/all.hpp>
#include <megakernels/scheduler/graph/dump.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include "kit.hpp"

#include <cstring>

namespace mk {
namespace {

using kit::text_of;

/// Leaves of the shapes that the operations take.
struct fixture {
  graph g{"g"};
  axis rows = g.live("rows", 6);
  value x = g.input("x", data_type::bf16, {rows, {"width", 8}});
  value weight = g.constant("weight", data_type::fp16, {{"out", 12}, {"width", 8}});
  value up = g.constant("up", data_type::fp16, {{"out", 12}, {"width", 8}});
  value gain = g.constant("gain", data_type::fp32, {{"width", 8}});
  build::batch_rows batch{.sequence = step("sequence"), .position = step("position")};
  value length = g.step("length", data_type::int32, {{"sequences", 2}});
  build::paged_kv cache{.k = pool("k"),
                        .v = pool("v"),
                        .block_table = g.step("table", data_type::int32, {{"sequences", 2}, {"columns", 3}})};

  value step(std::string name, data_type type = data_type::int32) { return g.step(std::move(name), type, {rows}); }
  value pool(std::string name) {
    return g.state(std::move(name), data_type::fp16, {{"blocks", 9}, {"slots", 4}, {"heads", 1}, {"dim", 4}});
  }

  graph::node_info const& node() const { return g.nodes().back(); }
  /// The arguments of the last node, which is of operation Op.
  template <class Op> typename Op::arguments arguments() const {
    EXPECT_EQ(node().op->name, Op::name);
    typename Op::arguments result;
    std::memcpy(&result, node().arguments.data(), sizeof result);
    return result;
  }
  std::string shape(value v) const {
    auto const& info = g[v];
    std::string text(name_of(info.desc.type));
    for (std::size_t i = 0; i < static_cast<std::size_t>(info.desc.rank); ++i)
      text += (i == 0 ? " " : " x ") + info.labels.axes[i];
    return text;
  }
};

TEST(operations, data_types_are_those_of_the_first_operand) {
  fixture f;
  EXPECT_EQ(f.shape(build::rms_norm(f.g, "norm", f.x, f.gain)), "bf16 rows x width");
  EXPECT_EQ(f.shape(build::rms_norm(f.g, "plain norm", f.x, {}, {.epsilon = 0.5f, .type = data_type::fp32})),
            "fp32 rows x width");
  EXPECT_EQ(f.arguments<rms_norm>().epsilon, 0.5f);
  EXPECT_EQ(f.node().operands[rms_norm::weight], -1);
  EXPECT_EQ(f.shape(build::softmax(f.g, "softmax", f.x, {.scale = 2})), "bf16 rows x width");
  EXPECT_EQ(f.arguments<softmax>().scale, 2.0f);
  EXPECT_EQ(f.shape(build::add(f.g, "add", f.x, f.x)), "bf16 rows x width");
  EXPECT_EQ(f.shape(build::silu_mul(f.g, "silu_mul", f.x, f.x, {.type = data_type::fp16})), "fp16 rows x width");
  EXPECT_EQ(f.shape(build::embedding(f.g, "embed", f.weight, f.step("ids"))), "fp16 rows x width");
}

TEST(operations, linear) {
  fixture f;
  EXPECT_EQ(f.shape(build::linear(f.g, "plain", f.x, f.weight)), "bf16 rows x out");
  EXPECT_EQ(f.arguments<linear>().activation, linear::no_activation);
  auto const bias = f.g.constant("bias", data_type::fp32, {{"out", 12}});
  auto const residual = f.g.input("residual", data_type::fp32, {f.rows, {"out", 12}});
  build::linear(f.g, "all", f.x, f.weight,
                {.up = f.up, .bias = bias, .residual = residual, .scale = bias, .up_scale = bias});
  EXPECT_EQ(f.arguments<linear>().activation, linear::silu);
  EXPECT_EQ(f.node().operands,
            (std::vector<std::int32_t>{f.x.index(), f.weight.index(), f.up.index(), bias.index(), residual.index(),
                                       bias.index(), bias.index(), f.node().operands[linear::y]}));
  build::linear(f.g, "silu", f.x, f.weight, {.silu = true});
  EXPECT_EQ(f.arguments<linear>().activation, linear::silu);
}

TEST(operations, rope) {
  fixture f;
  auto const y =
      build::rope(f.g, "rope", f.x, f.batch.position, {.head_dim = 4, .pairing = rope::neighbours, .theta = 5e5f});
  EXPECT_EQ(f.shape(y), "bf16 rows x width");
  auto const a = f.arguments<rope>();
  EXPECT_EQ(a.rotary_dim, 4);
  EXPECT_EQ(a.pairing, rope::neighbours);
  EXPECT_EQ(a.theta, 5e5f);
  EXPECT_NE(
      text_of<graph_error>([&] { build::rope(f.g, "bad", f.x, f.batch.position, {.head_dim = 3}); }).find("head_dim"),
      std::string::npos);
}

TEST(operations, attention_takes_heads_from_its_operands) {
  fixture f;
  auto const k = f.g.window(f.x, 1, 0, 4);
  build::kv_append(f.g, "append", k, k, f.cache, f.batch);
  EXPECT_EQ(f.node().operands[kv_append::k_cache], f.cache.k.index());
  auto const plain = build::attention(f.g, "attention", f.x, f.cache, f.batch, f.length);
  EXPECT_EQ(f.shape(plain.o), "bf16 rows x width");
  EXPECT_FALSE(plain.lse.present());
  auto const a = f.arguments<attention>();
  EXPECT_EQ(a.heads, 2);
  EXPECT_EQ(a.head_dim, 4);
  EXPECT_EQ(a.scale, 0.5f);
  EXPECT_EQ(a.causal, 1);
  auto const state = build::attention(f.g, "state", f.x, f.cache, f.batch, f.length,
                                      {.causal = false, .scale = 1.0f, .lse = true, .type = data_type::fp32});
  EXPECT_EQ(f.shape(state.o), "fp32 rows x width");
  EXPECT_EQ(f.shape(state.lse), "fp32 rows x head");
  EXPECT_EQ(f.arguments<attention>().causal, 0);
}

TEST(operations, merge_joins_what_attention_splits) {
  fixture f;
  auto const parts = build::attention(f.g, "attention", f.x, f.cache, f.batch, f.length, {.splits = 3});
  EXPECT_EQ(f.shape(parts.o), "fp32 split x rows x width");
  auto const joined = build::merge(f.g, "merge", parts, {.type = data_type::bf16});
  EXPECT_EQ(f.shape(joined.o), "bf16 rows x width");
  EXPECT_FALSE(joined.lse.present());
  EXPECT_EQ(f.arguments<merge>().heads, 2);
  EXPECT_EQ(f.shape(build::merge(f.g, "again", parts, {.lse = true}).lse), "fp32 rows x head");
}

TEST(operations, sample) {
  fixture f;
  build::sampling const how{.temperature = f.step("temperature", data_type::fp32),
                            .top_k = f.step("top_k"),
                            .top_p = f.step("top_p", data_type::fp32),
                            .seed = f.step("seed"),
                            .counter = f.step("counter")};
  EXPECT_EQ(f.shape(build::sample(f.g, "sample", f.x, how)), "int32 rows");
}

TEST(operations, values_that_are_missing_are_named) {
  fixture f;
  auto const text = [](auto run) { return text_of<graph_error>(run); };
  EXPECT_EQ(text([&] { build::add(f.g, "n", {}, f.x); }), "node 'n' (add): operand 'a': no value was given, graph 'g'");
  EXPECT_EQ(text([&] { build::linear(f.g, "n", {}, f.weight); }),
            "node 'n' (linear): operand 'x': no value was given, graph 'g'");
  EXPECT_EQ(text([&] { build::rope(f.g, "n", f.x, {}, {.head_dim = 4}); }),
            "node 'n' (rope): operand 'position': no value was given, graph 'g'");
  EXPECT_EQ(text([&] { build::attention(f.g, "n", f.x, {}, f.batch, f.length); }),
            "node 'n' (attention): operand 'k_cache': no value was given, graph 'g'");
  EXPECT_EQ(text([&] { build::merge(f.g, "n", {.o = f.x}); }),
            "node 'n' (merge): operand 'lse': no value was given, graph 'g'");
  fixture other;
  EXPECT_THROW(build::softmax(f.g, "n", other.x), graph_error);
  EXPECT_THROW(build::attention(f.g, "n", f.x, {.k = f.gain, .v = f.gain, .block_table = f.gain}, f.batch, f.length),
               graph_error);
  EXPECT_TRUE(f.g.nodes().empty());
}

} // namespace
} // namespace mk
