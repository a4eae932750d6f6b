#pragma once

/// Places in the program's code, kept in 32 bits, and what they are called.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tylo::emulator {

/// A return address: its distance from the start of the program. 0: none.
enum class code_position : std::uint32_t {};

/// Where the program starts in memory; from the linker.
[[gnu::visibility("hidden")]] extern char const program_start asm("__ehdr_start");

inline code_position position_of(void const* return_address) {
  return static_cast<code_position>(reinterpret_cast<std::uintptr_t>(return_address) -
                                    reinterpret_cast<std::uintptr_t>(&program_start));
}

/// A call: the function that it is in.
struct code_frame {
  std::string function; ///< its name without the types of its parameters and result; long template arguments cut
  std::string file;     ///< as the compiler was told it; empty where there are no debugging symbols
  int line = 0;
};

/// The call that returns to this position, then those of the functions that it is inlined into. The first look takes
/// as long as it takes to read all debugging symbols of the program.
std::vector<code_frame> frames_at(code_position);

/// Those calls in a line: "linear/lane/handler.hpp:57 (mk::handler<mk::linear>::compute) <
/// runtime/device/consumer.hpp:99 (mk::device::run_consumers<...>)". Parts of the emulator itself are left out. Empty
/// where there are no others, as at the end of a thread.
std::string describe(code_position);
/// The same of calls within calls, innermost first.
std::string describe(std::vector<code_position> const&);

/// Where the caller was called from, and so on: in a fiber to the start of that.
std::vector<code_position> call_chain();

} // namespace tylo::emulator
