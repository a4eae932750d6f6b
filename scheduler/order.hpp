#pragma once

/// Pass 5: in which order each worker runs its tasks.

#include <megakernels/scheduler/place.hpp>

#include <cstdint>
#include <vector>

namespace mk {

/// For each worker, its tasks: by level, then as the graph's nodes follow each other. Every task comes after all that
/// it waits for in this order, over all workers, so no wait can be for something behind it.
std::vector<std::vector<std::uint32_t>> order(placement const&, machine const&);

} // namespace mk
