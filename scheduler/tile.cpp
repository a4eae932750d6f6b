#include <megakernels/ops/error.hpp>
#include <megakernels/scheduler/tile.hpp>

#include <algorithm>
#include <cmath>

namespace mk {
namespace {

/// Live rows are cut finer than workers, since a submission may have few of them.
constexpr std::int64_t row_cuts_per_worker = 4;

/// A task should last this many times the cost of having it.
constexpr double least_task_costs = 2;

/// A program keeps tile sizes below 2^31.
constexpr std::int64_t largest_tile = std::int64_t(1) << 30;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

double seconds_of(cost const& c, machine const& m) {
  return std::max(c.bytes / m.bytes_per_second, c.operations / m.operations_per_second);
}

void choose_tiles(tiling::node& n, double seconds, machine const& m) {
  auto const rows = n.work.rows.capacity;
  auto const units = ceil_div(n.work.columns, n.work.column_granule);
  auto const worth = static_cast<std::int64_t>(std::min(1e9, seconds / (least_task_costs * m.task_seconds)));
  auto const wanted = std::clamp<std::int64_t>(worth, 1, m.workers);
  auto const unit_tiles = std::min(ceil_div(units, std::min(units, wanted)), largest_tile / n.work.column_granule);
  n.tile_columns = unit_tiles * n.work.column_granule;
  n.tile_rows = n.work.rows_divisible ? std::min(rows, largest_tile) : rows;
  auto const column_tiles = ceil_div(units, unit_tiles);
  if (column_tiles >= wanted || !n.work.rows_divisible) return;
  auto const cuts = n.work.rows.is_live() ? row_cuts_per_worker * wanted : wanted;
  auto const row_tiles = std::clamp<std::int64_t>(ceil_div(cuts, column_tiles), 1, rows);
  auto const row_cut = ceil_div(rows, std::min(row_tiles, std::max<std::int64_t>(1, worth / column_tiles)));
  n.tile_rows = std::min(n.tile_rows, row_cut);
}

} // namespace

task tiling::grid_of(tiled_task const& t) const {
  auto const& n = nodes[t.node];
  auto const cut = [](std::int64_t tiles, std::int64_t size, std::int64_t limit) {
    return std::min(tiles * size, limit);
  };
  return {.row_begin = cut(t.row_first, n.tile_rows, n.work.rows.capacity),
          .row_end = cut(t.row_last, n.tile_rows, n.work.rows.capacity),
          .column_begin = cut(t.column_tile, n.tile_columns, n.work.columns),
          .column_end = cut(t.column_tile + std::int64_t(1), n.tile_columns, n.work.columns)};
}

tiling tile(graph const& g, machine const& m) {
  if (m.workers < 1) throw graph_error("machine: " + std::to_string(m.workers) + " workers, expected 1 or more");
  tiling result;
  for (auto const& node : g.nodes()) {
    auto const operands = g.operands_of(node);
    tiling::node n{.work = node.op->work(node.arguments.data(), operands)};
    n.tile_columns = n.work.column_granule;
    n.first_task = static_cast<std::uint32_t>(result.tasks.size());
    auto const index = static_cast<std::uint32_t>(result.nodes.size());
    if (n.work.rows.capacity > 0 && n.work.columns > 0) {
      task const whole{0, n.work.rows.capacity, 0, n.work.columns};
      choose_tiles(n, seconds_of(node.op->cost_of(node.arguments.data(), operands, whole), m), m);
      auto const row_tiles = static_cast<std::uint32_t>(ceil_div(n.work.rows.capacity, n.tile_rows));
      auto const column_tiles = static_cast<std::uint32_t>(ceil_div(n.work.columns, n.tile_columns));
      for (std::uint32_t row = 0; row < row_tiles; ++row)
        for (std::uint32_t column = 0; column < column_tiles; ++column)
          result.tasks.push_back({.node = index, .column_tile = column, .row_first = row, .row_last = row + 1});
    }
    n.task_count = static_cast<std::uint32_t>(result.tasks.size()) - n.first_task;
    result.nodes.push_back(n);
    for (auto& t : std::span(result.tasks).subspan(n.first_task))
      t.seconds = m.task_seconds + seconds_of(node.op->cost_of(node.arguments.data(), operands, result.grid_of(t)), m);
  }
  return result;
}

} // namespace mk
