#pragma once

/// What a session can run on, as plain values.

#include <megakernels/tylo/emulator/launch.hpp>

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

/// Most workers that `host_device` accepts in one program.
inline constexpr std::uint32_t most_host_workers = 4096;

struct kernel_instance;

/// How a GPU runs submissions.
enum class run_mode {
  resident, ///< one kernel stays on the GPU and takes submissions from a ring; it ends by itself when idle
  launch,   ///< each submission is a kernel launch
};

/// A GPU with one persistent kernel, one worker a multiprocessor. Memory that callers bind may be the GPU's or the
/// host's; the latter is copied to and fro.
struct cuda_device {
  kernel_instance const* kernel = nullptr; ///< must be given
  run_mode mode = run_mode::resident;
  int ordinal = 0;                ///< the first GPU of the process; others are refused so far
  std::uint32_t most_workers = 0; ///< multiprocessors to use; 0: all

  /// A submission ends with `device_error` when no worker has finished a task for so long. At least 1 ms.
  std::chrono::nanoseconds stuck_after = std::chrono::seconds(1);
  /// A resident kernel without work ends after so long; the next submission starts it again.
  std::chrono::nanoseconds idle_after = std::chrono::seconds(1);
  /// GPU memory that is taken at once, so that programs can be loaded while a kernel is resident.
  std::uint64_t reserved_bytes = std::uint64_t(64) << 20;
  std::uint32_t first_epoch = 1;                           ///< as for the host
  std::optional<std::uint32_t> drop_signal = std::nullopt; ///< as for the host, in every step
};

/// A GPU that is emulated: the kernel's threads run one after another on one thread of this process, and whatever they
/// do wrong ends the submission with a report. See the book's chapter on the emulator.
struct emulator_device {
  kernel_instance const* kernel = nullptr; ///< must be given
  run_mode mode = run_mode::launch;
  std::uint32_t workers = 4; ///< of every launch

  /// In the kernel's own time, which jumps where all of it waits; in mode `resident` with an idle kernel, in real time.
  std::chrono::nanoseconds stuck_after = std::chrono::seconds(1);
  std::chrono::nanoseconds idle_after = std::chrono::milliseconds(100);
  std::uint32_t first_epoch = 1;                           ///< as for the host
  std::optional<std::uint32_t> drop_signal = std::nullopt; ///< as for the host, in every step
  tylo::emulator::options how = {};                        ///< schedule, and what is looked for; `idle` is not used
};

/// Most workers of an emulated GPU.
inline constexpr std::uint32_t most_emulated_workers = 256;

/// One of the devices of this library.
using device_choice = std::variant<host_device, cuda_device, emulator_device>;

} // namespace mk
