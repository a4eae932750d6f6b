#pragma once

#include <cstdint>

namespace mk {

/// What the scheduler knows of a device: plain numbers.
struct machine {
  std::int64_t workers = 1;            ///< that run at the same time, each its own list
  double bytes_per_second = 10e9;      ///< that one worker streams from memory
  double operations_per_second = 10e9; ///< that one worker computes
  double task_seconds = 1e-6;          ///< cost of a task beside its work: fetch, waits, signals
};

} // namespace mk
