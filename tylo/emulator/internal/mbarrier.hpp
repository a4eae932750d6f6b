#pragma once

/// mbarriers, as the operations that complete on them see them.

#include <megakernels/tylo/emulator/internal/grid.hpp>

namespace tylo::emulator {

/// The barrier at an address in the shared memory of the calling thread's cluster; raises where there is none.
mbarrier_state& mbarrier_at(void const* word, char const* what, site);

/// The same; raises too where the calling thread has not been told that it is initialised.
mbarrier_state& known_mbarrier(void const* word, char const* what, site);

/// Bytes of an operation that `issuer` started have arrived.
void complete_bytes(mbarrier_state&, counted_bytes const&, thread const& issuer, agent_clock const&);

} // namespace tylo::emulator
