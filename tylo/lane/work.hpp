#pragma once

/// Pieces of work for which it was announced what they touch. On a GPU these functions do nothing; the emulator
/// compares what the thread accesses in global memory with what was announced (`emulator::options::announced`).

#include <megakernels/tylo/emulator/lane.hpp>
#include <megakernels/tylo/site.hpp>
#include <megakernels/tylo/target.hpp>

namespace tylo {

/// The calling thread begins a piece of work that `what` describes, which stays as it is until `end_work`.
TYLO_FN inline void begin_work([[maybe_unused]] void const* what, [[maybe_unused]] site at = site::here()) {
  TYLO_EITHER((void)0, emulator::begin_work(what, at));
}
TYLO_FN inline void end_work([[maybe_unused]] site at = site::here()) { TYLO_EITHER((void)0, emulator::end_work(at)); }

} // namespace tylo
