#pragma once

/// What a session asks of a device. A session knows names, shapes and what must be refused; a device knows memory,
/// workers, counters and the order of submissions.

#include <megakernels/ops/operation.hpp>
#include <megakernels/runtime/device.hpp>
#include <megakernels/runtime/internal/completion.hpp>
#include <megakernels/runtime/launch.hpp>
#include <megakernels/runtime/tensor.hpp>
#include <megakernels/scheduler/program/program.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mk::detail {

/// A program with what its operations say about it. Immutable: devices and submissions share it.
struct loaded_program {
  mk::program program;
  std::vector<operation const*> operations; ///< of each node
  std::vector<work_shape> work;             ///< grid of each node
};

/// What changes between two steps of one submission: an int32 buffer that the next step reads.
struct job_feed {
  std::optional<std::uint32_t> from; ///< the buffer that is copied to `to`; none: `increment` is added to each element
  std::uint32_t to = 0;
  std::int32_t increment = 0;
  std::uint32_t count = 0; ///< live elements
  tensor_view history{};   ///< int32 [steps, count], dense: what `to` was given after each step; may be absent
};

/// One submission, ready to run.
struct job {
  std::uint32_t program = 0; ///< as `device::load` numbered it
  std::vector<std::int64_t> live;
  std::vector<std::byte*> addresses;       ///< of each buffer of the program, on the device
  std::shared_ptr<void const> memory;      ///< constants, states and workspace that the addresses point into
  std::shared_ptr<std::byte const> values; ///< step values that the addresses point into
  std::uint32_t steps = 1;                 ///< runs, one after another
  std::vector<job_feed> feeds{};           ///< done after each step but the last, histories after the last too
  std::shared_ptr<completion> finished;    ///< told when the job has ended, however it did
};

/// A program that is launched on streams of the caller's; see `mk::launch`.
class prepared_launch {
public:
  virtual ~prepared_launch() = default;
  virtual void set(std::unique_ptr<job>) = 0;
  virtual void enqueue(CUstream_st*) = 0;
  virtual void check() = 0;
};

/// All functions may be called by several threads. Destruction cancels what is queued and waits for what runs.
class device {
public:
  virtual ~device() = default;

  /// Memory at a multiple of 64 bytes, zero. Throws std::bad_alloc.
  virtual std::shared_ptr<std::byte> allocate(std::uint64_t bytes) = 0;
  virtual void set_to_zero(std::byte* memory, std::uint64_t bytes) = 0;
  /// The bytes of a constant on the device, for as long as the result lives.
  virtual std::shared_ptr<std::byte const> place(std::shared_ptr<tensor const> const&) = 0;

  /// Programs are numbered from 0 in the order of the calls. Throws `device_error` and takes no number where the
  /// device cannot run it.
  virtual std::uint32_t load(std::shared_ptr<loaded_program const>) = 0;

  /// Runs the job after all earlier ones. Once a job has failed, later ones end as cancelled, until `reset`.
  virtual void submit(std::unique_ptr<job>) = 0;
  virtual void wait_idle() = 0;
  /// Cancels what is queued, waits for what runs, forgets a failure, sets counters and epochs to their first values.
  virtual void reset() = 0;

  virtual std::size_t pending() const = 0;
  virtual std::string failure() const = 0;
  virtual std::uint32_t epoch(std::uint32_t program) const = 0;
  virtual std::vector<std::uint32_t> counters(std::uint32_t program) const = 0;

  virtual std::unique_ptr<prepared_launch> prepare(std::uint32_t) {
    throw device_error("this device runs submissions on no stream: only a cuda device does");
  }

  /// Whether the host can read memory of this device, or memory that a caller bound, at that address.
  virtual bool host_reads(std::byte const*) const { return true; }
  /// Kernels that were started; 0 on devices that have none.
  virtual std::uint32_t kernel_starts() const { return 0; }
};

std::unique_ptr<device> make_device(device_choice const&);

/// The operand of a node as a running task sees it: an absent view for tensor -1.
inline tensor_view view_of_tensor(program const& p, std::int32_t tensor, std::byte* const* addresses,
                                  std::int64_t const* live) {
  if (tensor < 0) return {};
  auto const& t = p.tensors[static_cast<std::size_t>(tensor)];
  auto* const start = addresses[t.buffer];
  return view_of(t.desc, start == nullptr ? nullptr : start + t.offset, live);
}

} // namespace mk::detail
