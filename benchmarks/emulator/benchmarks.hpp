#pragma once

/// What is measured of the emulator, on one core.

#include "kit/figure.hpp"

namespace mk::bench {

/// Switches from one thread of a kernel to the next, in shuffles of a warp.
figure fiber_switch();

/// Products mma.sync of a warp that loads 32 x 32 factors from shared memory again and again, with the loads: one
/// instruction after the other or, `batched`, those of a step in one meeting of the lanes.
figure mma_sync(bool batched, bool races);

/// Products of bf16 weights that a program streams through its ring, for one row on four workers: from `submit` to the
/// return of `wait`.
figure multiply_adds(bool races);

} // namespace mk::bench
