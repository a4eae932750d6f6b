#pragma once

#include <megakernels/scheduler/encode.hpp>
#include <megakernels/scheduler/machine.hpp>

namespace mk {

/// Runs all passes: tile, depend, plan_memory, place, order, encode. The result is verified.
program compile(graph const&, machine const&, operation_table const&);

} // namespace mk
