/// Submissions without rows, and programs without nodes: they succeed, write nothing, and leave the session well.

#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace mk {
namespace {

/// All operations over `rows`, with `sequences` of a cache of 4 blocks.
void add_every_operation(graph& g, axis const& rows, std::int64_t sequences) {
  auto const step = [&](char const* name, data_type type = data_type::int32) { return g.step(name, type, {rows}); };
  auto const x = g.input("x", data_type::fp32, {rows, {"width", 8}});
  auto const w = g.constant("w", data_type::bf16, {{"out", 8}, {"width", 8}});
  auto const position = step("position");
  build::batch_rows const batch{.sequence = step("sequence"), .position = position};
  auto const pool = [&](char const* name) {
    return g.state(name, data_type::fp32, {{"blocks", 4}, {"slots", 2}, {"heads", 2}, {"dim", 4}});
  };
  build::paged_kv const cache{.k = pool("k"),
                              .v = pool("v"),
                              .block_table =
                                  g.step("table", data_type::int32, {{"sequences", sequences}, {"columns", 2}})};
  auto const length = g.step("length", data_type::int32, {{"sequences", sequences}});
  g.output("embedding", build::embedding(g, "embedding", w, step("ids")));
  g.output("rms_norm", build::rms_norm(g, "rms_norm", x, {}));
  g.output("linear", build::linear(g, "linear", x, w));
  g.output("rope", build::rope(g, "rope", x, position, {.head_dim = 4}));
  g.output("silu_mul", build::silu_mul(g, "silu_mul", x, x));
  g.output("add", build::add(g, "add", x, x));
  g.output("softmax", build::softmax(g, "softmax", x));
  build::kv_append(g, "append", x, x, cache, batch);
  auto const parts = build::attention(g, "attention", x, cache, batch, length, {.splits = 2});
  g.output("lse", build::merge(g, "merge", parts, {.lse = true}).lse);
  g.output("sample", build::sample(g, "sample", x,
                                   {.temperature = step("temperature", data_type::fp32),
                                    .top_k = step("top_k"),
                                    .top_p = step("top_p", data_type::fp32),
                                    .seed = step("seed"),
                                    .counter = step("counter")}));
}

/// Submits once with no rows; every output keeps its bytes.
void expect_nothing_written(graph const& g, std::int64_t workers, std::vector<std::int64_t> const& live) {
  session s(host_device{}, full_operations);
  auto const p = s.load(compile(g, {.workers = workers, .task_seconds = 1e-9}, full_operations));
  s.set_constant("w", std::make_shared<tensor const>(data_type::bf16, std::initializer_list<std::int64_t>{8, 8}));
  std::vector<std::byte> memory(4096, std::byte{0xA5});
  step submitted;
  for (std::size_t i = 0; i < live.size(); ++i) submitted.live(g.live_axes()[i].name, live[i]);
  std::size_t used = 0;
  for (auto const& v : g.values()) {
    auto const view = view_of(v.desc, memory.data() + used, live.data());
    if (v.kind == value_kind::step) submitted.values(v.labels.name, view);
    if (v.kind == value_kind::input) submitted.bind(v.labels.name, view);
    if (!v.output.empty()) submitted.bind(v.output, view);
    used += v.kind == value_kind::input || !v.output.empty() ? 256 : 0;
  }
  for (int i = 0; i < 3; ++i) s.submit(p, submitted).wait();
  EXPECT_TRUE(std::ranges::all_of(memory, [](std::byte b) { return b == std::byte{0xA5}; }));
  for (auto const* name : {"k", "v"}) {
    auto const* bytes = s.state(name).data;
    EXPECT_TRUE(std::all_of(bytes, bytes + 4 * 2 * 2 * 4 * 4, [](std::byte b) { return b == std::byte{}; })) << name;
  }
  EXPECT_TRUE(s.status().failure.empty());
}

TEST(empty, every_operation_with_a_live_length_of_0) {
  for (std::int64_t workers : {1, 3, 64}) {
    graph g("live");
    add_every_operation(g, g.live("rows", 3), 0);
    expect_nothing_written(g, workers, {0});
  }
}

TEST(empty, every_operation_with_0_rows) {
  for (std::int64_t workers : {1, 3, 64}) {
    graph g("fixed");
    add_every_operation(g, {"rows", 0}, 0);
    expect_nothing_written(g, workers, {});
  }
}

TEST(empty, graphs_without_nodes) {
  for (std::int64_t workers : {1, 3}) {
    session s(host_device{}, full_operations);
    auto const nothing = s.load(compile(graph("nothing"), {.workers = workers}, full_operations));
    for (int i = 0; i < 3; ++i) {
      auto const done = s.submit(nothing, {});
      done.wait();
      EXPECT_EQ(done.state(), submission_state::done);
    }
    EXPECT_EQ(s.epoch(nothing), 3u);
  }
}

} // namespace
} // namespace mk
