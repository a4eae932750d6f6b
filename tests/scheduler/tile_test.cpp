#include <megakernels/ops/embedding/embedding.hpp>
#include <megakernels/ops/silu_mul/silu_mul.hpp>

#include "kit.hpp"
#include "toy_operations.hpp"

#include <memory>

namespace mk {
namespace {

/// A machine on which each task is worth having, whatever it does.
machine eager(std::int64_t workers) {
  return {.workers = workers, .bytes_per_second = 1, .operations_per_second = 1, .task_seconds = 1e-9};
}

template <class Op> std::unique_ptr<graph> one_node(std::int64_t rows, std::int64_t columns) {
  auto g = std::make_unique<graph>("g");
  auto const x = g->input("x", data_type::fp32, {{"rows", rows}, {"columns", columns}});
  if constexpr (std::is_same_v<Op, toy::put>)
    g->add<Op>("n", {}, {x, g->state("s", data_type::fp32, {{"rows", 1}, {"columns", columns}})});
  else
    g->add<Op>("n", {}, {x});
  return g;
}

/// Tile sizes and number of tasks.
struct made {
  std::int64_t rows;
  std::int64_t columns;
  std::size_t tasks;
  bool operator==(made const&) const = default;
};

void PrintTo(made const& m, std::ostream* to) { *to << m.rows << " x " << m.columns << ", " << m.tasks << " tasks"; }

template <class Op = toy::map> made tiles_of(std::int64_t rows, std::int64_t columns, machine const& m) {
  auto const t = tile(*one_node<Op>(rows, columns), m);
  return {t.nodes[0].tile_rows, t.nodes[0].tile_columns, t.tasks.size()};
}

TEST(tile, columns_are_cut_first) {
  EXPECT_EQ(tiles_of(5, 8, eager(1)), (made{5, 8, 1}));
  EXPECT_EQ(tiles_of(5, 8, eager(4)), (made{5, 2, 4}));
  EXPECT_EQ(tiles_of(5, 7, eager(4)), (made{5, 2, 4}));
  EXPECT_EQ(tiles_of(1, 1, eager(64)), (made{1, 1, 1}));
}

TEST(tile, rows_are_cut_where_columns_are_too_few) {
  EXPECT_EQ(tiles_of(100, 1, eager(4)), (made{25, 1, 4}));
  EXPECT_EQ(tiles_of(3, 2, eager(64)), (made{1, 1, 6}));
  EXPECT_EQ(tiles_of(100, 1, eager(1)), (made{100, 1, 1}));
}

TEST(tile, live_rows_are_cut_finer) {
  graph g("g");
  g.add<toy::map>("n", {}, {g.input("x", data_type::fp32, {g.live("rows", 100), {"columns", 1}})});
  EXPECT_EQ(tile(g, eager(4)).nodes[0].tile_rows, 7);
}

TEST(tile, rows_that_stay_whole) { EXPECT_EQ(tiles_of<toy::put>(100, 3, eager(64)), (made{100, 1, 3})); }

TEST(tile, cheap_nodes_are_one_task) {
  EXPECT_EQ(tiles_of(100, 100, {.workers = 64, .bytes_per_second = 1e12, .task_seconds = 1}), (made{100, 100, 1}));
  // 10,000 elements of 8 bytes: 80 seconds, of which a task should do at least 20.
  EXPECT_EQ(
      tiles_of(100, 100, {.workers = 64, .bytes_per_second = 1e3, .operations_per_second = 1e9, .task_seconds = 10}),
      (made{100, 25, 4}));
}

TEST(tile, nothing_to_do) {
  EXPECT_EQ(tiles_of(0, 8, eager(4)).tasks, 0u);
  EXPECT_EQ(tiles_of(8, 0, eager(4)).tasks, 0u);
  EXPECT_TRUE(tile(graph("empty"), eager(4)).tasks.empty());
  graph g("g");
  g.add<silu_mul>("n", {}, std::vector<value>(2, g.input("x", data_type::fp32, {{"rows", 0}, {"width", 200}})));
  EXPECT_EQ(tile(g, eager(4)).nodes[0].tile_columns, 64); // a granule: a size that `verify` accepts
}

TEST(tile, granules_are_not_cut) {
  graph g("g");
  auto const table = g.constant("table", data_type::fp32, {{"vocabulary", 10}, {"width", 200}});
  g.add<embedding>("n", {}, {table, g.input("ids", data_type::int32, {{"rows", 3}})});
  auto const t = tile(g, eager(3));
  EXPECT_EQ(t.nodes[0].tile_columns, 128); // 4 granules of 64 for 3 workers
  EXPECT_EQ(t.grid_of(t.tasks[1]).column_end, 200);
}

TEST(tile, machines_have_workers) {
  EXPECT_EQ(kit::text_of<graph_error>([] { tile(graph("g"), eager(0)); }), "machine: 0 workers, expected 1 or more");
}

TEST(tile, every_grid_is_covered_once) {
  kit::random r(7);
  for (int i = 0; i < 300; ++i) {
    auto const rows = r.integer(1, 40), columns = r.integer(1, 40);
    auto m = eager(r.integer(1, 70));
    m.task_seconds = r.chance(50) ? 1e-9 : static_cast<double>(r.integer(1, 500));
    auto const g = one_node<toy::map>(rows, columns);
    auto const t = tile(*g, m);
    std::vector<int> covered(static_cast<std::size_t>(rows * columns));
    for (auto const& one : t.tasks) {
      auto const grid = t.grid_of(one);
      for (auto row = grid.row_begin; row < grid.row_end; ++row)
        for (auto column = grid.column_begin; column < grid.column_end; ++column)
          ++covered[static_cast<std::size_t>(row * columns + column)];
      EXPECT_GT(one.seconds, 0);
    }
    EXPECT_EQ(std::count(covered.begin(), covered.end(), 1), rows * columns) << rows << " x " << columns;
  }
}

} // namespace
} // namespace mk
