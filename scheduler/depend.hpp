#pragma once

/// Pass 2: what each task must wait for, from the overlaps of the regions that tasks declare.

#include <megakernels/scheduler/graph/graph.hpp>
#include <megakernels/scheduler/tile.hpp>

#include <cstdint>
#include <vector>

namespace mk {

struct dependencies {
  /// Sets of tasks that others wait for, each in rising order; no two are equal.
  std::vector<std::vector<std::uint32_t>> sets;
  /// For each task, the sets that it waits for.
  std::vector<std::vector<std::uint32_t>> waits;
  /// before[y][x]: every task of node x is done before any task of node y starts. Edges alone imply it, whatever
  /// workers tasks are placed on.
  std::vector<std::vector<bool>> before;
};

/// Read after write, write after read and write after write, on every tensor (windows count as their base). An edge
/// that others imply is left out.
dependencies depend(graph const&, tiling const&);

} // namespace mk
