#pragma once

/// The device of a session on a GPU, be it emulated.

#include <megakernels/runtime/gpu/internal/driver.hpp>
#include <megakernels/runtime/gpu/internal/image.hpp>
#include <megakernels/runtime/gpu/internal/kernel_words.hpp>
#include <megakernels/runtime/gpu/internal/memory.hpp>
#include <megakernels/runtime/gpu/internal/staging.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

namespace mk::gpu {

/// One thread, the driver, writes slots, rings the doorbell and looks for completions. Submissions overlap: slots are
/// written while earlier ones run.
class gpu_device final : public detail::device {
public:
  gpu_device(settings const&, std::unique_ptr<driver>);
  ~gpu_device() override;
  gpu_device(gpu_device const&) = delete;
  gpu_device& operator=(gpu_device const&) = delete;

  std::shared_ptr<std::byte> allocate(std::uint64_t bytes) override;
  void set_to_zero(std::byte* memory, std::uint64_t bytes) override;
  std::shared_ptr<std::byte const> place(std::shared_ptr<tensor const> const&) override;
  std::uint32_t load(std::shared_ptr<detail::loaded_program const>) override;
  void submit(std::unique_ptr<detail::job>) override;
  void wait_idle() override;
  void reset() override;
  std::size_t pending() const override;
  std::string failure() const override;
  std::uint32_t epoch(std::uint32_t program) const override;
  std::vector<std::uint32_t> counters(std::uint32_t program) const override;
  bool host_reads(std::byte const* address) const override { return !copies_.is_device_memory(address); }
  std::unique_ptr<detail::prepared_launch> prepare(std::uint32_t program) override;
  std::uint32_t kernel_starts() const override { return starts_; }

private:
  struct flight {
    staged_job job;
    std::uint32_t number;
  };

  void drive() noexcept;
  void issue(std::unique_ptr<detail::job>);
  void start_kernel(std::uint32_t first_submission);
  void stop_kernel();
  bool front_is_done();
  bool kernel_has_ended();
  void finish_front();
  void fail(std::string reason);
  template <class Body> void guard(Body const&);

  settings settings_;
  std::unique_ptr<driver> on_;
  gpu_memory& copies_;
  std::shared_ptr<memory_pool> pool_;

  std::optional<kernel_words> words_;
  pinned_memory host_slots_;
  std::shared_ptr<std::byte> slots_;
  std::uint64_t slot_bytes_ = 0;
  bool one_by_one_; ///< each submission is a launch that must end before the next

  /// Of all below, and of the kernel's coming and going. Who holds it may make the pool grow, which ends the kernel.
  mutable std::recursive_mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::unique_ptr<resident_image>> programs_;
  std::deque<std::unique_ptr<detail::job>> queue_;
  std::deque<flight> flights_;
  std::uint32_t issued_ = 0; ///< submissions written
  bool running_ = false;     ///< a kernel was started and has not been seen to end
  std::string failure_;
  std::atomic<std::uint32_t> starts_ = 0;
  bool closing_ = false;
  std::thread driver_;
};

} // namespace mk::gpu
