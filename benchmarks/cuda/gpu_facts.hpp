#pragma once

#include <cstdint>
#include <string>

namespace mk::bench {

/// Name of the GPU; "no GPU" where there is none.
std::string gpu_name();

std::int64_t multiprocessors();

} // namespace mk::bench
