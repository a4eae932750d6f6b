#pragma once

/// What a session can run on, as plain values.

#include <chrono>
#include <cstdint>
#include <optional>
#include <variant>

namespace mk {

/// Threads of this process, one for each worker of a program, that run the references of the operations. Any number of
/// workers works on any number of cores.
struct host_device {
  /// A submission ends with `device_error` when all its unfinished workers have been waiting for so long. A task may
  /// take any time. At least 1 ms.
  std::chrono::nanoseconds stuck_after = std::chrono::seconds(1);

  /// Number of the first submission of each program. Numbers go on from 2^32 - 1 to 0: tests start just below.
  std::uint32_t first_epoch = 1;

  /// For tests: the first task that runs from this record (its index in the program) loses its signals.
  std::optional<std::uint32_t> drop_signal = std::nullopt;
};

/// One of the devices of this library.
using device_choice = std::variant<host_device>;

/// Most workers that `host_device` accepts in one program.
inline constexpr std::uint32_t most_host_workers = 4096;

} // namespace mk
