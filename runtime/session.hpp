#pragma once

/// A device with its programs, constants, state and submissions. The same for every device.

#include <megakernels/ops/operation_list.hpp>
#include <megakernels/ops/tensor.hpp>
#include <megakernels/runtime/device.hpp>
#include <megakernels/runtime/launch.hpp>
#include <megakernels/runtime/program_id.hpp>
#include <megakernels/runtime/step.hpp>
#include <megakernels/runtime/submission.hpp>
#include <megakernels/runtime/tensor.hpp>
#include <megakernels/scheduler/program/program.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mk {

namespace detail {
struct session_core;
struct session_door;
} // namespace detail

/// What `session::status` tells.
struct session_status {
  std::size_t pending = 0;         ///< submissions queued or running
  std::string failure;             ///< what stopped the device; empty while it is well
  std::uint32_t kernel_starts = 0; ///< of a GPU's kernel; 0 on the host
};

/// Programs that share constants and state by name, and run one submission at a time in the order of `submit`, whatever
/// programs these belong to. No task of a submission starts before all tasks of the one before have ended.
///
/// Results are the same bits for any number of workers. May be used by several threads at once. Submissions are
/// asynchronous: `submit` returns when its arguments are checked and copied.
///
/// After a failure (`submission_state::failed`) the submissions behind it are cancelled, and `submit` throws
/// `device_error` with the reason until `reset`. Other sessions are not concerned.
class session {
public:
  /// Programs must have been made for this list of operations. Throws `device_error` for a setting out of range.
  session(device_choice device, operation_table operations);
  /// Cancels what has not started, waits for what runs.
  ~session();
  session(session&&) noexcept;
  session& operator=(session&&) noexcept;

  /// Verifies the program and allocates its workspace, its counters and those states that the session does not have
  /// yet; states are zero at first. Throws `program_error` where `verify` refuses it, or where a state or constant that
  /// the session has under the same name differs in shape or type; `device_error` where memory or threads do not
  /// suffice, naming the asked number and the limit. The session is then as before.
  program_id load(program);

  /// Gives the constant `name` to every program that has one of that name, now or later, and keeps it alive; replaces
  /// an earlier one for submissions to come. The contents must not change any more. Throws `submit_error` where it
  /// does not fit a loaded program.
  void set_constant(std::string_view name, std::shared_ptr<tensor const> value);

  /// Queues one run of a program. Step values are copied; inputs and outputs are the caller's memory until the
  /// submission is done. An input may be the output of a submission that is still queued; a submission's outputs may
  /// overlap neither each other nor its inputs, constants or states.
  ///
  /// Throws `submit_error`, naming everything that is wrong, and queues nothing: a name that is missing or unknown, a
  /// live length outside 0 to capacity, a type, shape, stride or alignment that is not the program's, contents that the
  /// check of an operation refuses (in operands that the host can see now: constants, step values and inputs).
  submission submit(program_id, step const&);

  /// Makes a program ready for launches on the caller's streams, with a first step. Throws as `submit` does, and
  /// device_error where the device is not a GPU.
  [[nodiscard]] launch prepare(program_id, step const&);

  /// Waits until nothing is queued or running, whatever came of it.
  void wait_idle() const;

  [[nodiscard]] session_status status() const;

  /// Makes a failed session usable again, and any session as new: cancels what has not started, waits for what runs,
  /// then sets states to zero, and counters and epochs to their first values. Programs and constants stay.
  void reset();

  /// Memory of a state at full capacity; waits until nothing is queued. The caller may read and write it until the next
  /// submission. Throws `submit_error` where no loaded program has that state.
  [[nodiscard]] tensor_view state(std::string_view name) const;

  /// Number of the last finished submission of a program, from the device's first epoch on (one less before any).
  /// Waits until nothing is queued.
  [[nodiscard]] std::uint32_t epoch(program_id) const;

  /// Values of a program's counters, for tests; waits until nothing is queued. Unless the device has failed, counter c
  /// is program.counters[c] * epoch, modulo 2^32.
  [[nodiscard]] std::vector<std::uint32_t> counters(program_id) const;

private:
  friend struct detail::session_door;
  std::unique_ptr<detail::session_core> core_;
};

} // namespace mk
