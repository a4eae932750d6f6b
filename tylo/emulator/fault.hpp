#pragma once

/// What the emulator finds wrong with a kernel.

#include <megakernels/tylo/site.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tylo::emulator {

enum class fault_kind {
  deadlock,       ///< no thread can ever run again
  livelock,       ///< threads only poll, and what they poll never changes
  divergence,     ///< lanes of a warp, or warps of a group, are in different collectives, or have ended
  barrier_count,  ///< a barrier with other threads, arrivals or bytes than it was set up for
  phase_aliasing, ///< a waiter fell two phases behind an mbarrier, whose parity then lies
  bounds,         ///< an access outside of what the kernel may touch
  alignment,      ///< an address or size that the instruction does not take
  unwritten,      ///< a read of memory that nothing has written
  constant,       ///< a write to memory that is constant while the kernel runs
  race,           ///< two accesses, at least one a write, that nothing orders
  in_flight,      ///< an access to memory that an asynchronous operation reads or writes and has not been waited for
  proxy,          ///< an asynchronous operation meets ordinary accesses that no proxy fence comes after
  products,       ///< wgmma: sums used before their wait, or a fence or commit that is missing
  descriptor,     ///< a tensor map, wgmma descriptor or the like that the instruction does not take
  exit,           ///< a CTA ended while something of it was under way
  unannounced,    ///< an access that the piece of work did not announce
  misuse,         ///< anything else that the ISA forbids, or an exception that leaves the kernel
};

std::string_view name_of(fault_kind) noexcept;

/// A report: one line that says what was expected and what was found, then where each of those concerned is. `what()`
/// holds all of it.
class fault : public std::runtime_error {
public:
  fault(fault_kind kind, std::string const& text) : std::runtime_error(text), kind_(kind) {}
  [[nodiscard]] fault_kind kind() const noexcept { return kind_; }

private:
  fault_kind kind_;
};

} // namespace tylo::emulator
