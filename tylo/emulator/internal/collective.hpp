#pragma once

/// What all lanes of a warp do together: the last one to arrive does it for all.

#include <megakernels/tylo/emulator/internal/grid.hpp>

namespace tylo::emulator {

/// `carry_out` finds the argument of lane i at `warp.lanes[i]->argument`. `aligned`: all lanes must be at one place in
/// the source, since the instruction takes the warp as a whole.
void collective(char const* what, bool aligned, site, void* argument, void (*carry_out)(warp&));

/// Other threads may get their turn here.
void yield_at_times();

/// At the start of a lane function that is no collective: the same, and what the thread polled before is forgotten.
void begin_step();

} // namespace tylo::emulator
