#pragma once

/// What host and kernel share: a program as the kernel reads it, a submission, and the words by which they talk.
/// Plain structs; pointers are device addresses.

#include <megakernels/ops/operation.hpp>
#include <megakernels/scheduler/program/program.hpp>

#include <cstddef>
#include <cstdint>

namespace mk::device {

/// Most operands and argument bytes of an operation that a kernel can hold.
inline constexpr std::uint32_t most_operands = 12;
inline constexpr std::uint32_t most_argument_bytes = 64;

struct image_tensor {
  std::uint64_t offset; ///< bytes from the buffer's start
  std::uint32_t buffer;
  std::uint32_t constant; ///< 1 where the buffer is of kind constant: no task ever writes it; else 0
  tensor_desc desc;
};

struct image_node {
  std::uint32_t operation; ///< index in the list
  std::uint32_t operand_count;
  std::uint32_t first_operand;  ///< in program_image::operands
  std::uint32_t first_argument; ///< byte in program_image::arguments
  std::uint32_t argument_bytes;
  std::int32_t live_rows; ///< live axis of the rows, or -1
  std::int64_t rows;      ///< of the grid, at capacity
  std::int64_t columns;
  std::int64_t tile_rows;
  std::int64_t tile_columns;
};

struct image_worker {
  std::uint32_t first; ///< record
  std::uint32_t count;
};

/// A program in device memory.
struct program_image {
  image_node const* nodes;
  image_tensor const* tensors;
  std::int32_t const* operands; ///< tensors of the nodes' slots, -1 where absent
  std::byte const* arguments;
  record const* records;
  std::uint32_t const* overflow;
  std::uint32_t const* expected; ///< signals that each counter gets in a step
  image_worker const* workers;
  std::uint32_t* counters;
  std::uint32_t* epoch; ///< of the last finished step
  std::uint32_t worker_count;
};

/// Between two steps of one submission: an int32 array that the next step reads is given what the last one made, or
/// moves on by one constant.
struct step_feed {
  std::int32_t const* from; ///< copied to `to`; null: `increment` is added to each element of `to`
  std::int32_t* to;
  std::int32_t* history; ///< where `from` is kept too: element i of step s at history[s * count + i]; may be null
  std::int32_t increment;
  std::uint32_t count;
};

/// Starts a submission's slot; what follows lies at byte offsets from the slot's start.
struct submission_header {
  program_image const* program;
  std::uint32_t bytes;     ///< of the whole slot that are used, a multiple of 16
  std::uint32_t steps;     ///< 1 or more
  std::uint32_t live;      ///< std::int64_t for each live axis
  std::uint32_t addresses; ///< std::byte* for each buffer
  std::uint32_t feeds;     ///< step_feed
  std::uint32_t feed_count;
  std::uint32_t number; ///< of the submission
};

/// Words in device memory that all workers use; each on a line of its own.
struct alignas(128) shared_word {
  std::uint32_t value;
};

struct kernel_state {
  shared_word ready_steps; ///< steps that may begin
  shared_word steps_done;
  shared_word join; ///< arrivals of workers at the ends of steps
  shared_word abort;
  shared_word exit; ///< a resident kernel ends
};

/// What a wait that gave up, or was told to, was for.
struct wait_report {
  std::uint32_t valid;
  std::uint32_t record;
  std::uint32_t counter;
  std::uint32_t seen;
  std::uint32_t needed;
};

/// Words in mapped host memory; each side writes its own lines.
struct mailbox {
  shared_word doorbell;     ///< host: submissions written
  shared_word exit_request; ///< host
  shared_word completed;    ///< kernel: submissions finished
  shared_word exited;       ///< kernel: worker 0 has left
  shared_word aborted;      ///< kernel: a wait gave up
};

enum class kernel_mode : std::uint32_t {
  launch,   ///< one submission, then the kernel ends
  resident, ///< submissions come by the doorbell
};

struct kernel_arguments {
  kernel_state* state;
  mailbox* mail;
  wait_report* reports;        ///< one a worker, mapped host memory
  shared_word* progress;       ///< one a worker, device memory: tasks done
  std::byte const* host_slots; ///< mapped host memory; not used by `launch`
  std::byte* slots;            ///< device memory
  std::uint32_t slot_bytes;
  std::uint32_t slot_count;
  std::uint32_t first_submission;
  kernel_mode mode;
  std::uint64_t wait_ns;     ///< a wait gives up when no worker has finished a task for so long
  std::uint64_t idle_ns;     ///< a resident kernel without work ends after so long
  std::uint32_t drop_signal; ///< for tests: the record that loses its signals; none: 2^32 - 1
};

} // namespace mk::device
