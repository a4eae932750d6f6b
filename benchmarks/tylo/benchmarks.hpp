#pragma once

/// What is measured of operations that are written with tile primitives.

#include "kit/figure.hpp"

#include <cstdint>

namespace mk::bench {

/// An operation over the rows of bf16 [rows, columns], all in GPU memory, in GB/s of bytes read and written. The limit
/// is a copy of as many bytes from GPU memory to GPU memory, in the same run.
figure softmax_rows(std::int64_t rows, std::int64_t columns);
figure rms_norm_rows(std::int64_t rows, std::int64_t columns);

} // namespace mk::bench
