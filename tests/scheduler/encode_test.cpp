#include <megakernels/scheduler/encode.hpp>
#include <megakernels/scheduler/order.hpp>
#include <megakernels/scheduler/program/verify.hpp>

#include "kit.hpp"
#include "toy_operations.hpp"

namespace mk {
namespace {

using kit::tiles;
using numbers = std::vector<std::uint32_t>;

constexpr tiles whole{};
constexpr tiles halves{.columns = 2};

struct fixture {
  graph g{"g"};
  axis tokens = g.live("tokens", 4);
  value x = g.input("x", data_type::fp32, {tokens, {"columns", 4}});

  value map(std::string name, value from) { return g.add<toy::map>(std::move(name), {}, {from})[0]; }
  value mix(std::string name, value from, value and_from = {}) {
    return g.add<toy::mix>(std::move(name), {}, {from, and_from})[0];
  }

  /// Tasks, node by node, on the given workers.
  program encoded(std::vector<tiles> const& sizes, std::vector<std::uint32_t> workers) const {
    schedule s;
    s.tiles = kit::cut(g, sizes);
    s.depends = depend(g, s.tiles);
    s.memory = plan_memory(g, s.depends);
    auto const count = *std::max_element(workers.begin(), workers.end()) + 1;
    s.places = place(s.tiles, s.depends, {.workers = count});
    s.places.worker = std::move(workers);
    s.lists = order(s.places, {.workers = count});
    auto p = encode(g, s, toy::list::table);
    verify(p, toy::list::table);
    return p;
  }
};

std::vector<numbers> waits_of_all(program const& p) {
  std::vector<numbers> result;
  for (auto const& r : p.records) {
    auto const waits = waits_of(p, r);
    result.emplace_back(waits.begin(), waits.end());
  }
  return result;
}

TEST(encode, one_worker_needs_no_counters) {
  fixture f;
  f.map("c", f.map("b", f.map("a", f.x)));
  auto const p = f.encoded({halves, halves, whole}, {0, 0, 0, 0, 0});
  EXPECT_TRUE(p.counters.empty());
  EXPECT_EQ(p.records.size(), 5u);
  EXPECT_EQ(p.workers.size(), 1u);
}

TEST(encode, waits_across_workers_get_counters) {
  fixture f;
  f.mix("b", f.map("a", f.x));
  // a0 and b0 on worker 0, a1 and b1 on worker 1; both tasks of b wait for both of a.
  auto const p = f.encoded({halves, halves}, {0, 1, 0, 1});
  EXPECT_EQ(p.counters, (numbers{2}));
  EXPECT_EQ(waits_of_all(p), (std::vector<numbers>{{}, {0}, {}, {0}}));
  EXPECT_EQ(p.records[0].signal_count, 1);
  EXPECT_EQ(p.records[1].signal_count, 0);
}

TEST(encode, what_comes_earlier_on_the_same_worker_costs_nothing) {
  fixture f;
  f.map("b", f.map("a", f.x));
  EXPECT_TRUE(f.encoded({halves, halves}, {0, 1, 0, 1}).counters.empty());
  EXPECT_EQ(f.encoded({halves, halves}, {0, 1, 1, 0}).counters, (numbers{1, 1}));
}

TEST(encode, more_than_one_signal_goes_to_the_overflow_list) {
  fixture f;
  auto const a = f.map("a", f.x), b = f.map("b", a), c = f.mix("c", b, a);
  f.mix("d", f.g.window(a, 1, 0, 2));
  f.g.output("y", c);
  auto const p = f.encoded({halves, halves, whole, whole}, {0, 1, 1, 0, 2, 3});
  // a0 is awaited alone, by b0 and d, and with others, by c.
  auto const signals = signals_of(p, p.records[0]);
  EXPECT_EQ(signals.data(), p.overflow.data() + p.records[0].signal);
  ASSERT_EQ(signals.size(), 2u);
  EXPECT_EQ(p.counters[signals[0]], 1u);
  EXPECT_EQ(p.counters[signals[1]], 4u);
}

TEST(encode, tensors_buffers_and_nodes) {
  fixture f;
  auto const state = f.g.state("s", data_type::fp32, {{"slots", 2}, {"columns", 4}});
  auto const a = f.map("a", f.x);
  f.g.add<toy::put>("put", {}, {f.g.window(a, 1, 1, 2), f.g.window(state, 1, 2, 2)});
  f.g.output("y", f.mix("b", a));
  auto const p = f.encoded({whole, whole, halves}, {0, 0, 0, 0});

  ASSERT_EQ(p.live_axes.size(), 1u);
  EXPECT_EQ(p.live_axes[0].name, "tokens");
  std::vector<std::string> buffers;
  for (auto const& b : p.buffers)
    buffers.push_back(b.name + " " + std::string(name_of(b.kind)) + " " + std::to_string(b.bytes));
  EXPECT_EQ(buffers, (kit::lines{"workspace workspace 256", "x input 64", "s state 32", "y output 64"}));
  for (std::size_t i = 1; i < p.buffers.size(); ++i)
    EXPECT_EQ(p.tensors[static_cast<std::size_t>(p.buffers[i].root)].buffer, i);

  auto const& window = p.tensors[4]; // of s
  EXPECT_EQ(window.name, "s[columns 2:4]");
  EXPECT_EQ(window.offset, 8u);
  EXPECT_EQ(window.origin[1], 2);
  EXPECT_EQ(p.tensors[static_cast<std::size_t>(window.base)].name, "s");
  EXPECT_EQ(p.nodes[2].name, "b");
  EXPECT_EQ(p.nodes[2].tile_columns, 2);
  EXPECT_EQ(p.nodes[2].operands[1], -1);
  EXPECT_EQ(p.list_hash, toy::list::hash);
}

TEST(encode, operations_that_the_list_lacks) {
  fixture f;
  f.map("a", f.x);
  schedule s;
  s.tiles = kit::cut(f.g, {whole});
  s.depends = depend(f.g, s.tiles);
  s.memory = plan_memory(f.g, s.depends);
  s.places = place(s.tiles, s.depends, {});
  s.lists = order(s.places, {});
  EXPECT_EQ(kit::text_of<graph_error>([&] { encode(f.g, s, operation_list<toy::put>::table); }),
            "node 'a': the operation list has no operation 'map' of revision 1");
}

} // namespace
} // namespace mk
