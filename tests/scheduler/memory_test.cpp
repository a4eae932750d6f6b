#include <megakernels/scheduler/memory.hpp>

#include "brute_force.hpp"
#include "random_graph.hpp"
#include "toy_operations.hpp"

namespace mk {
namespace {

using kit::tiles;

constexpr tiles whole{};
constexpr tiles halves{.columns = 2};

/// Nodes of results [4, columns] fp32; a chain of them where no other input is given.
struct fixture {
  graph g{"g"};
  value x = g.input("x", data_type::fp32, {{"rows", 4}, {"columns", 4}});

  value mix(std::string name, value from, value and_from = {}) {
    return g.add<toy::mix>(std::move(name), {}, {from, and_from})[0];
  }
  memory_plan plan(std::vector<tiles> const& sizes) { return plan_memory(g, depend(g, kit::cut(g, sizes))); }
};

TEST(memory, a_chain_takes_two_places) {
  fixture f;
  auto const a = f.mix("a", f.x), b = f.mix("b", a), c = f.mix("c", b), d = f.mix("d", c);
  auto const plan = f.plan({whole, whole, whole, whole});
  auto const at = [&](value v) { return plan.offsets[static_cast<std::size_t>(v.index())]; };
  EXPECT_EQ(at(a), 0u);
  EXPECT_EQ(at(b), 256u);
  EXPECT_EQ(at(c), 0u);
  EXPECT_EQ(at(d), 256u);
  EXPECT_EQ(plan.workspace_bytes, 512u);
}

TEST(memory, what_is_still_read_keeps_its_place) {
  fixture f;
  auto const a = f.mix("a", f.x), b = f.mix("b", a), c = f.mix("c", b, a), d = f.mix("d", c);
  auto const plan = f.plan({whole, whole, whole, whole});
  auto const at = [&](value v) { return plan.offsets[static_cast<std::size_t>(v.index())]; };
  EXPECT_EQ(at(b), 256u);
  EXPECT_EQ(at(c), 512u);
  EXPECT_EQ(at(d), 0u);
  EXPECT_EQ(plan.workspace_bytes, 768u);
}

TEST(memory, tasks_that_are_not_ordered_share_nothing) {
  fixture f;
  auto const map = [&](std::string name, value from) { return f.g.add<toy::map>(std::move(name), {}, {from})[0]; };
  map("c", map("b", map("a", f.x)));
  // The left half of c may run before the right half of a: nothing waits for all of a.
  EXPECT_EQ(f.plan({halves, halves, halves}).workspace_bytes, 768u);
  EXPECT_EQ(f.plan({halves, halves, whole}).workspace_bytes, 768u);
  EXPECT_EQ(f.plan({halves, whole, whole}).workspace_bytes, 512u);
}

TEST(memory, windows_keep_their_base) {
  fixture f;
  auto const a = f.mix("a", f.x), b = f.mix("b", a);
  f.mix("c", b, f.g.window(a, 1, 0, 2));
  EXPECT_EQ(f.plan({whole, whole, whole}).workspace_bytes, 768u);
}

TEST(memory, outputs_and_empty_results_take_none) {
  fixture f;
  f.g.output("y", f.mix("a", f.x));
  f.mix("b", f.g.window(f.x, 1, 0, 0));
  EXPECT_EQ(f.plan({whole, whole}).workspace_bytes, 0u);
}

/// All pairs of intermediates of random graphs, by plain search over tasks: bytes are shared only where all tasks that
/// touch the one are ordered before all that touch the other.
TEST(memory, random_graphs_share_only_what_is_ordered) {
  std::size_t shared = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    kit::random_graph const made(seed);
    auto const& g = made.get();
    kit::random r(seed);
    auto const t = tile(g, {.workers = r.integer(1, 9), .bytes_per_second = 1, .task_seconds = 1e-9});
    auto const d = depend(g, t);
    auto const plan = plan_memory(g, d);
    auto order = kit::order_of(d);
    ASSERT_TRUE(order.close());
    std::vector<std::vector<std::size_t>> users(g.values().size());
    for (auto const& touch : kit::touches_of(g, t)) users[touch.base].push_back(touch.task);
    auto const all_before = [&](std::size_t a, std::size_t b) {
      return std::all_of(users[a].begin(), users[a].end(), [&](auto x) {
        return std::all_of(users[b].begin(), users[b].end(), [&](auto y) { return order.before(x, y); });
      });
    };
    for (std::size_t b = 0; b < users.size(); ++b) {
      if (!is_intermediate(g.values()[b])) continue;
      auto const end_b = plan.offsets[b] + span_bytes(g.values()[b].desc);
      EXPECT_LE(end_b, plan.workspace_bytes);
      EXPECT_EQ(plan.offsets[b] % workspace_alignment, 0u);
      for (std::size_t a = 0; a < b; ++a) {
        if (!is_intermediate(g.values()[a])) continue;
        auto const end_a = plan.offsets[a] + span_bytes(g.values()[a].desc);
        if (end_a <= plan.offsets[b] || end_b <= plan.offsets[a]) continue;
        ++shared;
        EXPECT_TRUE(all_before(a, b) || all_before(b, a)) << "seed " << seed << ", values " << a << " and " << b;
      }
    }
  }
  EXPECT_GT(shared, 100u);
}

} // namespace
} // namespace mk
