#pragma once

/// What a session holds.

#include <megakernels/runtime/internal/device.hpp>
#include <megakernels/runtime/internal/memory.hpp>
#include <megakernels/runtime/session.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mk::detail {

/// Memory of a buffer of a program that is the same for many submissions.
struct fixed_buffers {
  std::vector<std::byte*> addresses; ///< of each buffer; null for those that a submission brings, and those not set
  std::vector<std::shared_ptr<void const>> owners;
  std::vector<std::uint32_t> missing; ///< constants that are not set
};

/// A program in a session.
struct session_program {
  std::shared_ptr<loaded_program const> loaded;
  std::map<std::string_view, std::uint32_t> live_axes;
  std::map<std::string_view, std::uint32_t> buffers; ///< those with a name that users may say: all but workspace
  std::vector<std::uint32_t> brought;                ///< buffers that every submission brings: step, input, output
  std::vector<std::uint32_t> checked_nodes;          ///< nodes whose operation looks at contents
  std::map<std::uint32_t, std::shared_ptr<std::byte>> workspace;
  std::shared_ptr<fixed_buffers const> fixed;
  std::uint32_t number = 0; ///< at the device

  [[nodiscard]] mk::program const& plan() const { return loaded->program; }
  /// The tensor that gives a buffer its shape.
  [[nodiscard]] mk::program::tensor const& root(std::uint32_t buffer) const {
    return plan().tensors[static_cast<std::size_t>(plan().buffers[buffer].root)];
  }
};

struct session_constant {
  std::shared_ptr<tensor const> value;
  std::shared_ptr<std::byte const> memory;
};

struct session_state {
  tensor_view view; ///< at full capacity
  std::uint64_t bytes = 0;
  std::shared_ptr<std::byte> memory;
};

/// A submission that may still run, and what it writes in memory of callers.
struct unfinished {
  std::shared_ptr<completion const> finished;
  std::vector<memory_range> outputs;
};

struct session_core {
  session_core(device_choice const&, operation_table);

  program_id load(program&&);
  void set_constant(std::string_view name, std::shared_ptr<tensor const> value);
  submission submit(program_id, step const&);
  /// A job that nothing waits for, for `prepared_launch`.
  std::unique_ptr<job> make_job(program_id, step const&);
  void reset();

  /// Throws `submit_error` for a program of another session.
  session_program& find(program_id);

  std::uint64_t serial;
  operation_table operations;
  std::mutex mutex;
  std::map<std::string, session_constant, std::less<>> constants;
  std::map<std::string, session_state, std::less<>> states;
  std::vector<std::unique_ptr<session_program>> programs;
  std::vector<unfinished> in_flight;
  std::unique_ptr<device> machine; ///< last, so that it is idle before anything else goes
};

/// Everything about a program that its operations and names say. Needs a well-formed program.
std::unique_ptr<session_program> analyse(program&&, operation_table const&);

/// A description at full capacity, as a view without memory.
tensor_view at_capacity(tensor_desc const&);

/// Why `found` is not the tensor that is expected (type, lengths, strides), or empty. Strides matter only along axes of
/// more than one element of tensors that have elements.
std::string misfit(tensor_view const& expected, tensor_view const& found);

} // namespace mk::detail
