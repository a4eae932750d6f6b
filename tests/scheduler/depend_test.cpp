#include "brute_force.hpp"
#include "random_graph.hpp"
#include "toy_operations.hpp"

namespace mk {
namespace {

using kit::lines;
using kit::tiles;

struct fixture {
  graph g{"g"};
  value x = g.input("x", data_type::fp32, {{"rows", 4}, {"columns", 4}});
  value s = g.state("s", data_type::fp32, {{"slots", 2}, {"columns", 4}});
  dependencies depends;

  value map(std::string name, value from) { return g.add<toy::map>(std::move(name), {}, {from})[0]; }
  value mix(std::string name, value from, value and_from = {}) {
    return g.add<toy::mix>(std::move(name), {}, {from, and_from})[0];
  }
  void put(std::string name, value from, value to) { g.add<toy::put>(std::move(name), {}, {from, to}); }
  value get(std::string name, value from, value rows) { return g.add<toy::get>(std::move(name), {}, {from, rows})[0]; }

  /// Each node cut into tasks of these tile sizes.
  lines edges(std::vector<tiles> const& sizes) {
    auto const t = kit::cut(g, sizes);
    depends = depend(g, t);
    return kit::edges_of(g, t, depends);
  }
};

constexpr tiles whole{};
constexpr tiles halves{.columns = 2};

TEST(depend, chain) {
  fixture f;
  f.map("c", f.map("b", f.map("a", f.x)));
  EXPECT_EQ(f.edges({whole, whole, whole}), (lines{"b0 <- a0", "c0 <- b0"}));
  EXPECT_TRUE(f.depends.before[1][0]);
  EXPECT_TRUE(f.depends.before[2][0]); // by way of b
  EXPECT_TRUE(f.depends.before[2][1]);
  EXPECT_FALSE(f.depends.before[0][1]);
  EXPECT_FALSE(f.depends.before[0][0]);
}

TEST(depend, tiles_wait_only_for_what_they_touch) {
  fixture f;
  f.map("b", f.map("a", f.x));
  EXPECT_EQ(f.edges({halves, halves}), (lines{"b0 <- a0", "b1 <- a1"}));
  EXPECT_FALSE(f.depends.before[1][0]); // b0 may start before a1 is done
  EXPECT_EQ(f.edges({halves, tiles{.columns = 3}}), (lines{"b0 <- a0 a1", "b1 <- a1"}));
  EXPECT_EQ(f.edges({halves, tiles{.rows = 3}}), (lines{"b0 <- a0 a1", "b1 <- a0 a1"}));
  EXPECT_TRUE(f.depends.before[1][0]);
  EXPECT_EQ(f.edges({tiles{.rows = 2, .columns = 2}, tiles{.rows = 2}}), (lines{"b0 <- a0 a1", "b1 <- a2 a3"}));
}

TEST(depend, equal_sets_are_one) {
  fixture f;
  f.mix("b", f.map("a", f.x));
  f.edges({halves, tiles{.columns = 1}});
  EXPECT_EQ(f.depends.sets, (std::vector<std::vector<std::uint32_t>>{{0, 1}}));
  EXPECT_EQ(f.depends.waits[5], (std::vector<std::uint32_t>{0}));
}

TEST(depend, edges_that_others_imply_are_left_out) {
  fixture f;
  auto const a = f.map("a", f.x);
  f.mix("c", f.mix("b", a), a);
  EXPECT_EQ(f.edges({whole, whole, whole}), (lines{"b0 <- a0", "c0 <- b0"}));
  EXPECT_EQ(f.edges({halves, halves, halves}), (lines{"b0 <- a0 a1", "b1 <- a0 a1", "c0 <- b0 b1", "c1 <- b0 b1"}));
}

TEST(depend, edges_that_others_do_not_imply_stay) {
  fixture f;
  auto const a = f.map("a", f.x);
  f.mix("c", f.map("b", a), a);
  // Only where all tasks of a are before each task of b does waiting for b say anything about a.
  EXPECT_EQ(f.edges({halves, halves, whole}), (lines{"b0 <- a0", "b1 <- a1", "c0 <- a0 a1 b0 b1"}));
}

TEST(depend, constants_and_inputs_make_no_edges) {
  fixture f;
  f.map("a", f.x);
  f.map("b", f.x);
  EXPECT_EQ(f.edges({whole, whole}), lines{});
}

TEST(depend, states_in_all_three_ways) {
  fixture f;
  f.put("append", f.x, f.s);
  f.get("read", f.s, f.x);
  f.put("again", f.x, f.s);
  f.put("twice", f.x, f.s);
  // Read after write, write after read, write after write; what is implied is left out.
  EXPECT_EQ(f.edges({whole, whole, whole, whole}), (lines{"read0 <- append0", "again0 <- read0", "twice0 <- again0"}));
  EXPECT_EQ(f.edges({halves, halves, halves, whole}),
            (lines{"read0 <- append0", "read1 <- append1", "again0 <- append0 read0", "again1 <- append1 read1",
                   "twice0 <- again0 again1"}));
}

TEST(depend, a_state_that_is_read_first) {
  fixture f;
  f.get("read", f.s, f.x);
  f.put("append", f.x, f.s);
  EXPECT_EQ(f.edges({whole, whole}), (lines{"append0 <- read0"}));
}

TEST(depend, windows_of_one_base) {
  fixture f;
  auto const a = f.map("a", f.x);
  f.map("left", f.g.window(a, 1, 0, 2));
  f.map("right", f.g.window(f.g.window(a, 1, 1, 3), 1, 1, 2));
  EXPECT_EQ(f.edges({halves, whole, whole}), (lines{"left0 <- a0", "right0 <- a1"}));
  EXPECT_EQ(f.edges({tiles{.columns = 3}, whole, whole}), (lines{"left0 <- a0", "right0 <- a0 a1"}));
}

TEST(depend, windows_of_a_state) {
  fixture f;
  f.put("first", f.x, f.g.window(f.s, 0, 0, 1));
  f.put("second", f.x, f.g.window(f.s, 0, 1, 1));
  f.get("read", f.g.window(f.s, 0, 1, 1), f.x);
  f.put("whole", f.x, f.s);
  EXPECT_EQ(f.edges({whole, whole, whole, whole}), (lines{"read0 <- second0", "whole0 <- first0 read0"}));
}

TEST(depend, empty_windows_touch_nothing) {
  fixture f;
  auto const a = f.map("a", f.x);
  f.mix("b", f.x, f.g.window(a, 1, 2, 0));
  EXPECT_EQ(f.edges({whole, whole}), lines{});
}

TEST(depend, nodes_without_tasks) {
  graph g("g");
  auto const x = g.input("x", data_type::fp32, {{"rows", 0}, {"columns", 4}});
  g.add<toy::map>("b", {}, {g.add<toy::map>("a", {}, {x})[0]});
  auto const d = depend(g, kit::cut(g, {whole, whole}));
  EXPECT_TRUE(d.waits.empty());
  EXPECT_FALSE(d.before[1][0]);
}

/// Tasks of random graphs that conflict are ordered as their nodes follow each other, each edge is between tasks that
/// conflict, and `before` says nothing that edges do not imply.
TEST(depend, random_graphs_by_plain_search) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    kit::random_graph const made(seed);
    auto const& g = made.get();
    kit::random r(seed);
    auto const t = tile(g, {.workers = r.integer(1, 9), .bytes_per_second = 1, .task_seconds = 1e-9});
    auto const d = depend(g, t);
    auto order = kit::order_of(d);
    ASSERT_TRUE(order.close());
    auto const touches = kit::touches_of(g, t);
    std::set<std::pair<std::size_t, std::size_t>> conflicts;
    for (auto const& a : touches)
      for (auto const& b : touches) {
        if (t.tasks[a.task].node >= t.tasks[b.task].node || !kit::conflict(a, b)) continue;
        conflicts.insert({a.task, b.task});
        EXPECT_TRUE(order.before(a.task, b.task)) << "seed " << seed << ", tasks " << a.task << " and " << b.task;
      }
    for (std::size_t task = 0; task < d.waits.size(); ++task)
      for (auto set : d.waits[task])
        for (auto producer : d.sets[set]) EXPECT_TRUE(conflicts.contains({producer, task})) << "seed " << seed;
    for (std::size_t x = 0; x < t.tasks.size(); ++x)
      for (std::size_t y = 0; y < t.tasks.size(); ++y)
        if (d.before[t.tasks[y].node][t.tasks[x].node]) {
          EXPECT_TRUE(order.before(x, y)) << "seed " << seed << ", tasks " << x << " and " << y;
        }
  }
}

} // namespace
} // namespace mk
