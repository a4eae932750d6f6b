#pragma once

/// Tasks on their way through a worker: decoded ahead by the control warp, into shared memory.

#include <megakernels/runtime/device/layout.hpp>
#include <megakernels/tylo/lane/barrier.hpp>

namespace mk::device {

/// Tasks that are decoded ahead.
inline constexpr std::uint32_t queue_slots = 4;

/// What stands in a slot instead of an operation.
inline constexpr std::uint32_t end_of_step = 0xFFFFFFFEu;
inline constexpr std::uint32_t end_of_kernel = 0xFFFFFFFFu;

struct decoded_task {
  std::uint32_t operation; ///< index in the list, or one of the two above
  std::uint32_t record;
  std::uint32_t step;     ///< number of the step since the state was made
  std::uint32_t repeat;   ///< number of the step in its submission
  std::uint32_t multiple; ///< a counter is reached at this times the signals that it expects
  std::uint32_t wait_count;
  std::uint32_t signal_count;
  std::uint32_t pages_in_flight;
  std::uint32_t const* waits;   ///< counters
  std::uint32_t const* signals; ///< counters
  program_image const* program;
  submission_header const* submission;
  task grid; ///< cut to the live rows
  bool empty;
  std::uint32_t constants; ///< bit i: operand i lies in a buffer of kind constant
  alignas(8) std::byte arguments[most_argument_bytes];
  tensor_view operands[most_operands];
};

struct task_queue {
  decoded_task slots[queue_slots];
  tylo::mbarrier decoded[queue_slots]; ///< by the control warp
  tylo::mbarrier ready[queue_slots];   ///< by the watcher: all that the task waits for has happened
  tylo::mbarrier done[queue_slots];    ///< by loader, watcher and consumers: the slot may be used again
};

/// A place in the queue.
struct queue_cursor {
  std::uint32_t slot = 0;
  std::uint32_t lap = 0;

  TYLO_FN void step() {
    if (++slot < queue_slots) return;
    slot = 0;
    lap ^= 1u;
  }
};

} // namespace mk::device
