#include <megakernels/ops/all.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/program/codec.hpp>
#include <megakernels/scheduler/program/verify.hpp>

#include "models.hpp"
#include "node_by_node.hpp"
#include "run_records.hpp"

#include <chrono>
#include <cstdio>

#ifdef __OPTIMIZE__
#define MK_OPTIMISED true
#else
#define MK_OPTIMISED false
#endif

namespace mk {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What the scheduler is told of a large GPU.
constexpr machine large{.workers = 132, .bytes_per_second = 30e9, .operations_per_second = 5e12, .task_seconds = 1e-6};

kit::llama_shape const llama_1b{.layers = 32,
                                .hidden = 2048,
                                .heads = 32,
                                .kv_heads = 8,
                                .head_dim = 64,
                                .feed_forward = 8192,
                                .vocabulary = 128256,
                                .sequences = 1,
                                .rows = 1,
                                .block_size = 16,
                                .blocks_per_sequence = 512,
                                .splits = 16,
                                .type = data_type::bf16};

TEST(compile, a_model_for_a_large_machine_in_a_second) {
  auto const g = kit::make_llama(llama_1b);
  auto const start = std::chrono::steady_clock::now();
  auto const p = compile(*g, large, llama_operations);
  auto const seconds = seconds_since(start);
  auto const verifying = std::chrono::steady_clock::now();
  verify(p, llama_operations);
  std::printf("%zu nodes, %zu records, %zu counters: %.3f s, of which verify %.3f s\n", p.nodes.size(),
              p.records.size(), p.counters.size(), seconds, seconds_since(verifying));
  if (kit::sanitized || !MK_OPTIMISED) return;
  EXPECT_LT(seconds, 1.0);
}

void load(kit::program_memory& memory, program const& p, kit::contents const& leaves, bool with_states) {
  for (auto const& b : p.buffers) {
    if (b.kind == buffer_kind::state && !with_states) continue;
    if (auto const found = leaves.find(b.name); found != leaves.end())
      std::copy(found->second.begin(), found->second.end(), memory.buffer(b.name).begin());
  }
}

void expect_equal(kit::program_memory& memory, program const& p, kit::node_by_node const& expected) {
  for (auto const& b : p.buffers)
    if (b.kind == buffer_kind::state || b.kind == buffer_kind::output) {
      EXPECT_TRUE(std::ranges::equal(memory.buffer(b.name), expected.bytes(b.name))) << b.name;
    }
}

/// Whatever the order in which workers go on, the records of a program compute what the graph means; the second
/// submission finds the memory as the first one left it.
TEST(compile, random_graphs_in_any_order_of_records) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    kit::random_graph made(seed);
    kit::random r(seed);
    machine const m{.workers = r.pick(std::vector<std::int64_t>{1, 2, 3, 7, 64}),
                    .bytes_per_second = r.chance(70) ? 1 : 1e9,
                    .operations_per_second = 1e9,
                    .task_seconds = 1e-9};
    auto const p = compile(made.get(), m, full_operations);
    ASSERT_EQ(p.workers.size(), static_cast<std::size_t>(m.workers));
    kit::program_memory memory(p);
    kit::node_by_node expected(made.get(), made.leaves);
    load(memory, p, made.leaves, true);
    for (int submission = 0; submission < 2; ++submission) {
      expected.run(made.leaves, made.live);
      for (auto const& b : p.buffers)
        if (b.kind == buffer_kind::output) std::ranges::fill(memory.buffer(b.name), std::byte{0xFF});
      load(memory, p, made.leaves, false);
      ASSERT_TRUE(kit::record_runner(p, full_operations, memory.addresses(), made.live, seed).run());
      expect_equal(memory, p, expected);
      EXPECT_TRUE(memory.guards_intact());
      made.draw_again();
    }
    if (HasFailure()) return;
  }
}

TEST(compile, graphs_without_work) {
  auto const nothing = compile(graph("nothing"), {.workers = 3}, full_operations);
  EXPECT_EQ(nothing.workers.size(), 3u);
  EXPECT_TRUE(nothing.records.empty());
  graph g("no rows");
  g.output("y", build::softmax(g, "softmax", g.input("x", data_type::fp32, {{"rows", 0}, {"width", 5}})));
  auto const empty = compile(g, {.workers = 3}, full_operations);
  EXPECT_EQ(empty.nodes.size(), 1u);
  EXPECT_TRUE(empty.records.empty());
}

TEST(compile, the_same_graph_is_the_same_program) {
  auto const once = compile(*kit::make_llama({}), large, llama_operations);
  auto const again = compile(*kit::make_llama({}), large, llama_operations);
  EXPECT_EQ(encode(once), encode(again));
}

} // namespace
} // namespace mk
