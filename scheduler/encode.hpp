#pragma once

/// Pass 6: puts everything together as a program.

#include <megakernels/ops/operation_list.hpp>
#include <megakernels/scheduler/depend.hpp>
#include <megakernels/scheduler/graph/graph.hpp>
#include <megakernels/scheduler/memory.hpp>
#include <megakernels/scheduler/place.hpp>
#include <megakernels/scheduler/program/program.hpp>
#include <megakernels/scheduler/tile.hpp>

#include <cstdint>
#include <vector>

namespace mk {

/// The results of the passes before.
struct schedule {
  tiling tiles;
  dependencies depends;
  memory_plan memory;
  placement places;
  std::vector<std::vector<std::uint32_t>> lists; ///< tasks of each worker, in order
};

/// Numbers the graph's operations by `table` (graph_error naming the operation where the list lacks one), gives each
/// producer set that some task on another worker waits for a counter, and lays out tensors, nodes and records. A wait
/// whose producers all come earlier on the same worker costs nothing.
program encode(graph const&, schedule const&, operation_table const&);

} // namespace mk
