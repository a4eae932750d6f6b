// One layer of attention as a graph: live axes, step values, states, windows. Prints the graph and some errors.

#include <megakernels/ops/error.hpp>
#include <megakernels/scheduler/graph/dump.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include <cstdio>

namespace {

void build_layer(mk::graph& g) {
  // [leaves]
  auto const tokens = g.live("tokens", 16); // rows of a submission: 0 to 16
  auto const sequences = g.live("sequences", 4);
  mk::axis const width("width", 64); // always 64

  auto const x = g.input("x", mk::data_type::fp32, {tokens, width});
  auto const weight = g.constant("qkv.weight", mk::data_type::bf16, {{"qkv", 128}, width});

  std::vector<mk::axis> const cache_axes{{"blocks", 32}, {"block_tokens", 8}, {"kv_heads", 2}, {"head_dim", 16}};
  mk::build::paged_kv const cache{.k = g.state("k_cache", mk::data_type::bf16, cache_axes),
                                  .v = g.state("v_cache", mk::data_type::bf16, cache_axes),
                                  .block_table =
                                      g.step("block_table", mk::data_type::int32, {sequences, {"blocks", 8}})};
  mk::build::batch_rows const rows{.sequence = g.step("sequence", mk::data_type::int32, {tokens}),
                                   .position = g.step("position", mk::data_type::int32, {tokens})};
  auto const length = g.step("length", mk::data_type::int32, {sequences});
  // [/leaves]

  // [nodes]
  auto const qkv = mk::build::linear(g, "qkv", x, weight, {.type = mk::data_type::bf16});
  auto const q = g.window(qkv, 1, 0, 64); // of axis 1, from 0, 64 long: 4 heads of 16
  auto const k = g.window(qkv, 1, 64, 32);
  auto const v = g.window(qkv, 1, 96, 32);
  mk::build::kv_append(g, "append", k, v, cache, rows);
  auto const attended = mk::build::attention(g, "attention", q, cache, rows, length, {.type = mk::data_type::fp32});
  g.output("y", attended.o);
  // [/nodes]
}

// [mistakes]
void wrong_width(mk::graph& g, mk::value x) { // x is [rows, 64]
  auto const weight = g.constant("weight", mk::data_type::bf16, {{"out", 32}, {"in", 96}});
  mk::build::linear(g, "project", x, weight);
}
void window_outside(mk::graph& g, mk::value x) { g.window(x, 1, 48, 32); }
void window_of_live_axis(mk::graph& g, mk::value x) { g.window(x, 0, 0, 4); }
void leaf_as_output(mk::graph& g, mk::value x) { g.output("y", x); }
// [/mistakes]

/// What a mistake is answered with.
void show_error(void (*mistake)(mk::graph&, mk::value)) {
  mk::graph g("mistakes");
  auto const x = g.input("x", mk::data_type::fp32, {g.live("rows", 8), {"width", 64}});
  try {
    mistake(g, x);
    std::puts("no error");
  } catch (mk::graph_error const& e) {
    std::puts(e.what());
  }
}

void show_graph() {
  mk::graph g("layer");
  build_layer(g);
  std::fputs(mk::to_text(g).c_str(), stdout);
  std::puts("");
}

} // namespace

int main() {
  show_graph();

  for (auto const mistake : {wrong_width, window_outside, window_of_live_axis, leaf_as_output}) show_error(mistake);
}
