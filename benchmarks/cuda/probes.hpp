#pragma once

/// What the card and its link to the host can do, measured by kernels of their own.

#include <cstdint>
#include <vector>

namespace mk::bench {

/// Microseconds from a store of the host in pinned memory, which a kernel of one thread looks at, to the kernel's
/// answer by the same way. Throws mk::error where an answer is wrong or does not come.
std::vector<double> doorbell_round_trips(std::uint32_t count);

/// GB/s at which all multiprocessors together read 2 GiB of GPU memory, by bulk copies into as large a ring of pages as
/// the persistent kernel has, all of them in flight. Throws mk::error where the sum of all words is wrong.
std::vector<double> const& stream_rates();

/// The best of these: what limits are told by.
double stream_gbytes();

} // namespace mk::bench
