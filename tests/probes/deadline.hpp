#pragma once

/// Waits of probes: what goes wrong ends in a failed test, not in a GPU that hangs.

#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/memory.hpp>
#include <megakernels/tylo/lane/thread.hpp>

namespace mk::test {

/// Calls `happened` until it is true; false where that takes more than two seconds.
template <class F> TYLO_FN bool happens_in_time(F happened) {
  auto const start = tylo::clock_ns();
  while (!happened())
    if (tylo::clock_ns() - start > 2'000'000'000) return false;
  return true;
}

TYLO_FN inline bool wait_in_time(tylo::mbarrier* b, unsigned parity) {
  return happens_in_time([&] { return tylo::try_wait(b, parity); });
}

} // namespace mk::test
