#pragma once

/// The host device: a pool of threads, a queue of submissions, and the join between them.

#include <megakernels/runtime/host/internal/host_run.hpp>
#include <megakernels/runtime/internal/device.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace mk::detail {

/// Thread i runs worker i of every program. One submission runs at a time. Each thread has a turn number; a submission
/// starts by raising the turn of every worker that has records, and the last worker to leave it starts the next one:
/// this is the join.
class thread_device final : public device {
public:
  explicit thread_device(host_device const&);
  ~thread_device() override;
  thread_device(thread_device const&) = delete;
  thread_device& operator=(thread_device const&) = delete;

  std::shared_ptr<std::byte> allocate(std::uint64_t bytes) override;
  void set_to_zero(std::byte* memory, std::uint64_t bytes) override;
  std::shared_ptr<std::byte const> place(std::shared_ptr<tensor const> const&) override;
  std::uint32_t load(std::shared_ptr<loaded_program const>) override;
  void submit(std::unique_ptr<job>) override;
  void wait_idle() override;
  void reset() override;
  std::size_t pending() const override;
  std::string failure() const override;
  std::uint32_t epoch(std::uint32_t program) const override;
  std::vector<std::uint32_t> counters(std::uint32_t program) const override;

private:
  struct alignas(64) lane {
    std::atomic<std::uint32_t> turn = 0;
    std::atomic<std::uint64_t> position = 0;
    gate started;
    spinner before_turn{spinner::most};
    spinner before_counter{spinner::most};
    std::thread thread;
  };

  void serve(lane&, std::uint32_t worker) noexcept;
  void give_turn(lane&);
  void grow_pool(std::uint32_t threads, std::string const& program);

  // These are called with `mutex_` held, and allocate nothing but the text of a failure.
  void start_next();
  void start_run();
  /// Whether the submission is to run once more.
  bool end_run();
  void cancel_queued(std::string const& reason);

  host_shared shared_;
  std::atomic<bool> closing_ = false;
  host_run* current_ = nullptr; ///< what threads work on when their turn comes; written before turns are given

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::vector<std::unique_ptr<host_program>> programs_;
  std::deque<std::unique_ptr<host_run>> queue_;
  std::unique_ptr<host_run> running_;
  std::string failure_;
  std::vector<std::unique_ptr<lane>> lanes_;
};

} // namespace mk::detail
