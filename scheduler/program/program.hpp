#pragma once

/// A program: a graph compiled for a machine. Plain data that every device runs; `encode` / `decode` (codec.hpp) turn
/// it into bytes and back, `verify` (verify.hpp) proves that it may run.

#include <megakernels/ops/operation.hpp>
#include <megakernels/ops/tensor.hpp>
#include <megakernels/scheduler/program/descriptor.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace mk {

/// Where the bytes of a buffer come from.
enum class buffer_kind : std::int32_t {
  constant,  ///< set once for a session by name; never written
  state,     ///< belongs to the session, lives across submissions, shared by name between programs
  input,     ///< bound by the caller for each submission; read only
  output,    ///< bound by the caller for each submission
  step,      ///< small values copied into each submission
  workspace, ///< intermediate results; contents are unspecified before and after a submission
};

std::string_view name_of(buffer_kind);

/// A task as it is encoded: part of a node's grid, what it waits for and what it signals. Tiles are counted in the
/// node's tile sizes. Rows stop at the live length, read when the task runs.
struct record {
  std::uint32_t node = 0;
  std::uint32_t column_tile = 0;
  std::uint32_t row_first = 0; ///< first row tile
  std::uint32_t row_last = 0;  ///< one past the last row tile
  std::uint32_t wait[2] = {};  ///< counters; with more than two, wait[0] is the place of the list in `overflow`
  std::uint32_t signal = 0;    ///< counter; with more than one, the place of the list in `overflow`
  std::uint16_t wait_count = 0;
  std::uint8_t signal_count = 0;
  std::uint8_t pages_in_flight = 4; ///< most pages of the ring that the loader has asked for and that have not landed

  friend bool operator==(record const&, record const&) = default;
};
static_assert(sizeof(record) == 32);
static_assert(std::has_unique_object_representations_v<record> &&
              std::has_unique_object_representations_v<tensor_desc>);

struct program {
  struct live_axis {
    std::string name;
    std::int64_t capacity = 0;
  };

  struct buffer {
    std::string name; ///< unique among buffers; the name by which it is bound
    buffer_kind kind = buffer_kind::workspace;
    std::uint64_t bytes = 0;
    std::int32_t root = -1; ///< the tensor that fills it and gives its shape; -1 for workspace
  };

  /// A tensor lies in a buffer, and may be a window into a base tensor (same rank, type and strides).
  struct tensor {
    std::string name;
    std::uint32_t buffer = 0;
    std::int32_t base = -1;                      ///< -1: not a window
    std::uint64_t offset = 0;                    ///< bytes from the buffer's start; that of the base if it is empty
    std::array<std::int64_t, max_rank> origin{}; ///< of the window in the base
    tensor_desc desc;
  };

  struct node {
    std::string name;
    std::uint32_t operation = 0; ///< index in the operation list
    std::vector<std::byte> arguments;
    std::vector<std::int32_t> operands; ///< tensor of each slot, -1 where absent
    std::int64_t tile_rows = 1;
    std::int64_t tile_columns = 1;
  };

  /// The records of one worker, in the order in which it runs them.
  struct worker {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  std::string name;
  std::string metadata;        ///< free text of whoever made the program; the library does not look at it
  std::uint64_t list_hash = 0; ///< of the operation list that the nodes index
  std::vector<live_axis> live_axes;
  std::vector<buffer> buffers;
  std::vector<tensor> tensors;
  std::vector<descriptor> descriptors; ///< tiles that the copy engine moves
  std::vector<node> nodes;
  std::vector<std::uint32_t> counters; ///< for each counter, the signals that it gets in one submission
  std::vector<record> records;
  std::vector<std::uint32_t> overflow;
  std::vector<worker> workers;
};

/// Counters that a record waits for: each must have got all its signals of this submission.
std::span<std::uint32_t const> waits_of(program const&, record const&);

/// Counters that a record signals (adds one to) when its task is done.
std::span<std::uint32_t const> signals_of(program const&, record const&);

/// Descriptions of a node's operands, `absent` for absent ones.
std::vector<tensor_desc> operands_of(program const&, program::node const&);

/// The task of a record at full capacity, given its node's work grid.
task task_of(program::node const&, work_shape const&, record const&);

/// Bytes from the first to one past the last element of a tensor of full capacity; 0 if it has no elements.
/// Throws program_error where that is more than 2^62 or a stride or extent is negative.
std::uint64_t span_bytes(tensor_desc const&);

} // namespace mk
