#pragma once

/// Pass 4: which worker runs each task.

#include <megakernels/scheduler/depend.hpp>
#include <megakernels/scheduler/machine.hpp>
#include <megakernels/scheduler/tile.hpp>

#include <cstdint>
#include <vector>

namespace mk {

struct placement {
  std::vector<std::uint32_t> worker; ///< for each task
  std::vector<std::uint32_t> level;  ///< for each task: length of the longest chain of edges that leads to it
};

/// Tasks of one level can run at the same time: each goes to the worker that has least to do on that level.
placement place(tiling const&, dependencies const&, machine const&);

} // namespace mk
