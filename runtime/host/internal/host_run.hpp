#pragma once

/// One submission while threads work on it.

#include <megakernels/runtime/internal/device.hpp>
#include <megakernels/runtime/internal/gate.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mk::detail {

/// Where a worker is, as others see it. Written only when a worker starts, sleeps, goes on or ends; within a submission
/// it never takes the same value again, except for `running`.
struct worker_position {
  enum phase : std::uint64_t { running, waiting, finished };

  /// Record index (32 bits), number of the wait in it (16 bits), phase (2 bits).
  static constexpr std::uint64_t pack(phase p, std::uint32_t record = 0, std::uint32_t wait = 0) {
    return std::uint64_t(record) << 18 | std::uint64_t(wait) << 2 | p;
  }
  static constexpr phase phase_of(std::uint64_t packed) { return static_cast<phase>(packed & 3); }
  static constexpr std::uint32_t record_of(std::uint64_t packed) { return static_cast<std::uint32_t>(packed >> 18); }
  static constexpr std::uint32_t wait_of(std::uint64_t packed) { return packed >> 2 & 0xFFFF; }
};

/// A program on this device. `counters` and `epoch` change only while one of its submissions runs.
struct host_program {
  std::shared_ptr<loaded_program const> loaded;
  std::vector<std::uint32_t> active;                  ///< workers that have records
  std::vector<std::atomic<std::uint64_t>*> positions; ///< of each worker up to the last active one
  std::vector<std::uint32_t> first_operand;           ///< of each node, among the operands of all nodes
  std::vector<std::uint32_t> counters;
  std::uint32_t epoch = 0; ///< of the last finished submission

  /// As if a submission with that epoch had just finished.
  void set_epoch(std::uint32_t last);
};

/// What all submissions of a device share.
struct host_shared {
  host_device settings;
  std::atomic<bool> signal_dropped = false;
  std::array<gate, 64> counter_gates; ///< who waits for counter c sleeps at c mod 64
};

class host_run {
public:
  host_run(host_shared&, host_program&, std::unique_ptr<job>);

  /// Takes the number of the run, before any worker starts. No allocation: finishing threads start runs.
  void start(std::uint32_t epoch) noexcept;

  /// Runs the records of one worker; returns when they are done or the run has been stopped.
  void work(std::uint32_t worker, spinner&) noexcept;

  /// One worker fewer; true for the last one, which then sees all that the others wrote.
  bool leave() noexcept { return remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  /// After the last one left: changes the step values as the submission says; whether it is to run once more.
  bool prepare_next() noexcept;

  /// After the last one left: whether the run was stopped, and why.
  [[nodiscard]] std::string const& failure() const noexcept { return failure_; }
  [[nodiscard]] host_program& program() const noexcept { return program_; }
  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] job& submitted() const noexcept { return *job_; }

private:
  /// Waits for a counter, number `wait` in the list of record `index`; false where the run was stopped.
  bool await(std::uint32_t worker, std::uint32_t index, std::uint32_t wait, spinner&);
  void execute(record const&) const;
  void signal(std::uint32_t counter);
  bool loses_signals(std::uint32_t index);
  void fail(std::string reason);

  [[nodiscard]] mk::program const& plan() const { return program_.loaded->program; }
  [[nodiscard]] std::uint32_t needed(std::uint32_t counter) const { return plan().counters[counter] * epoch_; }
  [[nodiscard]] std::uint32_t seen(std::uint32_t counter) const {
    return std::atomic_ref(program_.counters[counter]).load(std::memory_order_seq_cst);
  }
  [[nodiscard]] bool reached(std::uint32_t counter) const {
    return static_cast<std::int32_t>(seen(counter) - needed(counter)) >= 0;
  }
  [[nodiscard]] gate const& gate_of(std::uint32_t counter) const {
    return shared_.counter_gates[counter % shared_.counter_gates.size()];
  }
  [[nodiscard]] std::string describe(record const&) const;

  /// Sleeps until `ready()`; stops the run when all have been waiting for too long. This and what follows: stuck.cpp.
  void sleep(gate const&, std::function<bool()> const& ready);
  [[nodiscard]] std::uint32_t awaited_counter(std::uint64_t position) const;
  /// A number that changes with every step of any worker, if all of them wait or have finished; else none.
  [[nodiscard]] std::optional<std::uint64_t> standstill() const;
  [[nodiscard]] std::string stuck_report() const;

  host_shared& shared_;
  host_program& program_;
  std::unique_ptr<job> job_;
  std::vector<tensor_view> views_; ///< operands of all nodes
  std::uint32_t epoch_ = 0;
  std::uint32_t runs_ = 0; ///< that have ended
  std::atomic<std::uint32_t> remaining_;
  std::atomic<bool> stopped_ = false;
  std::mutex failure_mutex_;
  std::string failure_;
};

} // namespace mk::detail
