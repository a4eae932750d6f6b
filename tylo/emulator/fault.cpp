#include <megakernels/tylo/emulator/fault.hpp>

namespace tylo::emulator {

std::string_view name_of(fault_kind kind) noexcept {
  switch (kind) {
  case fault_kind::deadlock:
    return "deadlock";
  case fault_kind::livelock:
    return "livelock";
  case fault_kind::divergence:
    return "divergence";
  case fault_kind::barrier_count:
    return "barrier count";
  case fault_kind::phase_aliasing:
    return "phase aliasing";
  case fault_kind::bounds:
    return "out of bounds";
  case fault_kind::alignment:
    return "misaligned";
  case fault_kind::unwritten:
    return "read of unwritten memory";
  case fault_kind::constant:
    return "write to constant memory";
  case fault_kind::race:
    return "race";
  case fault_kind::in_flight:
    return "memory in flight";
  case fault_kind::proxy:
    return "missing proxy fence";
  case fault_kind::products:
    return "warpgroup products";
  case fault_kind::descriptor:
    return "descriptor";
  case fault_kind::exit:
    return "early exit";
  case fault_kind::misuse:
    return "misuse";
  }
  return "fault";
}

} // namespace tylo::emulator
