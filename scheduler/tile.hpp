#pragma once

/// Pass 1: cuts each node's grid into tasks.

#include <megakernels/scheduler/graph/graph.hpp>
#include <megakernels/scheduler/machine.hpp>

#include <cstdint>
#include <vector>

namespace mk {

/// A task of a node, in tiles of the node.
struct tiled_task {
  std::uint32_t node = 0;
  std::uint32_t column_tile = 0;
  std::uint32_t row_first = 0;
  std::uint32_t row_last = 0;
  double seconds = 0; ///< estimate, at full capacity
};

struct tiling {
  struct node {
    work_shape work;
    std::int64_t tile_rows = 1;
    std::int64_t tile_columns = 1;
    std::uint32_t first_task = 0;
    std::uint32_t task_count = 0;
  };

  std::vector<node> nodes;
  std::vector<tiled_task> tasks; ///< node by node

  /// The part of the node's grid that a task is, at full capacity.
  task grid_of(tiled_task const&) const;
};

/// Cuts columns first (every task takes all rows, so that weights are read once), rows where columns are too few;
/// no more tasks than workers can share evenly, none much shorter than the cost of having a task.
tiling tile(graph const&, machine const&);

} // namespace mk
