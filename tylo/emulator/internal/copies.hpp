#pragma once

/// Asynchronous copies, as the end of a thread sees them.

#include <megakernels/tylo/emulator/internal/grid.hpp>

namespace tylo::emulator {

/// The calling thread ends: raises where it has not waited until its bulk stores have read their sources; and, where it
/// is the last of its CTA, where nobody has waited for a copy to shared memory of the CTA.
void check_stores_at_end(thread const&);

} // namespace tylo::emulator
