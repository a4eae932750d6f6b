#pragma once

/// Places in the program's code, kept in 32 bits, and what they are called.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tylo::emulator {

/// A return address: its distance from the start of the program. 0: none.
enum class code_position : std::uint32_t {};

extern "C" char const __ehdr_start; // by the linker

inline code_position position_of(void const* return_address) {
  return static_cast<code_position>(reinterpret_cast<std::uintptr_t>(return_address) -
                                    reinterpret_cast<std::uintptr_t>(&__ehdr_start));
}

/// The function and line of a call, then those of the functions that it is inlined into:
/// "ops/linear/handler.hpp:57 (multiply) < runtime/device/consumer.hpp:99 (run_consumers)".
std::string describe(code_position);
/// The same of calls within calls, innermost first.
std::string describe(std::vector<code_position> const&);

/// Where the caller was called from, and so on.
std::vector<code_position> call_chain();

} // namespace tylo::emulator
