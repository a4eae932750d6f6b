#pragma once

/// Conversions of contiguous elements, as fast as the machine moves them. The values are those of tylo/numbers.hpp.

#include <megakernels/ops/reference/machine.hpp>
#include <megakernels/tylo/data_type.hpp>

#include <cstddef>
#include <cstdint>

namespace mk::reference {

/// `count` elements of a floating type or int8 as fp32, exactly.
void widen_row(tylo::data_type type, std::byte const* from, std::int64_t count, float* to, machine = this_machine());

/// fp32 numbers as elements of a floating type, rounded once to nearest even.
void narrow_row(tylo::data_type type, float const* from, std::int64_t count, std::byte* to, machine = this_machine());

} // namespace mk::reference
