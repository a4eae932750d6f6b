#pragma once

/// Asynchronous copies, as the end of a thread sees them.

#include <megakernels/tylo/emulator/internal/grid.hpp>

namespace tylo::emulator {

/// The calling thread ends: raises where it has not waited until its bulk stores have read their sources.
void check_stores_at_end(thread const&);

} // namespace tylo::emulator
