#pragma once

/// The kernels of tests/emulator/memory_kernels.hpp on a GPU.

#include "../emulator/memory_kernels.hpp"
#include "fragments.hpp"

namespace mk::test {

template <> start_function const* starts_of<row_cases>();
template <> start_function const* starts_of<product_cases>();
template <> start_function const* starts_of<replica_cases>();
template <> start_function const* starts_of<fixed_cases>();
template <> start_function const* starts_of<special_cases>();

} // namespace mk::test
