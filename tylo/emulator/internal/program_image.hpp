#pragma once

/// What of the program itself an address belongs to.

#include <cstdint>

namespace tylo::emulator {

enum class program_section : std::uint8_t { none, constants, variables };

/// Of all that is loaded: the program and its libraries.
program_section section_of(void const* address);

} // namespace tylo::emulator
