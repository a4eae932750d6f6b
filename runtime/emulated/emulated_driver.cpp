#include <megakernels/runtime/emulated/internal/emulated_driver.hpp>
#include <megakernels/runtime/emulated/internal/task_watch.hpp>
#include <megakernels/runtime/gpu/internal/gpu_device.hpp>
#include <megakernels/tylo/emulator/memory.hpp>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace mk::emulated {
namespace {

class emulated_memory final : public gpu::gpu_memory {
public:
  std::shared_ptr<std::byte> allocate(std::uint64_t bytes) override { return tylo::emulator::allocate(bytes); }
  [[nodiscard]] bool allocates_beside_kernels() const override { return true; }
  std::shared_ptr<std::byte> allocate_pinned(std::uint64_t bytes) override {
    return tylo::emulator::allocate(bytes, tylo::emulator::contents::zero);
  }
  [[nodiscard]] std::byte* device_address(std::byte* pinned) const override { return pinned; }
  void to_device(std::byte* to, std::byte const* from, std::uint64_t bytes) override {
    tylo::emulator::copy_in(to, from, bytes);
  }
  void to_host(std::byte* to, std::byte const* from, std::uint64_t bytes) override {
    tylo::emulator::copy_out(to, from, bytes);
  }
  void zero(std::byte* to, std::uint64_t bytes) override { tylo::emulator::set_to_zero(to, bytes); }
  void hold_constant(std::byte const* at, std::uint64_t bytes) override { tylo::emulator::mark_constant(at, bytes); }
  void discard(std::byte* at, std::uint64_t bytes) override { tylo::emulator::mark_unwritten(at, bytes); }
  [[nodiscard]] bool makes_reports() const override { return true; }
  void name(std::byte const* at, std::uint64_t bytes, std::string_view what) override {
    tylo::emulator::name_part(at, bytes, what);
  }
  [[nodiscard]] bool is_device_memory(void const* address) const override {
    return tylo::emulator::is_device_memory(address);
  }
};

/// Each kernel runs in a thread of its own, one at a time.
class emulated_driver final : public gpu::driver {
public:
  explicit emulated_driver(emulator_device const& choice) : choice_(choice) {
    choice_.how.idle = nullptr;
    if (choice.mode == run_mode::resident) choice_.how.idle = [this] { return await_host(); };
  }
  ~emulated_driver() override { settle(); }
  emulated_driver(emulated_driver const&) = delete;
  emulated_driver& operator=(emulated_driver const&) = delete;

  [[nodiscard]] std::string name() const override { return "emulator device"; }
  [[nodiscard]] gpu::gpu_memory& memory() override { return memory_; }
  [[nodiscard]] std::uint32_t workers() const override { return choice_.workers; }

  void copy_slot(std::byte* to, std::byte const* from, std::uint64_t bytes) override {
    memory_.to_device(to, from, bytes);
  }

  void start(mk::device::kernel_arguments const& arguments) override {
    ended_ = false;
    running_ = std::thread([this, arguments] {
      try {
        auto const& k = *choice_.kernel;
        task_watch tasks(k.operations);
        auto how = choice_.how;
        if (how.races) how.announced = [&tasks](void const* task) { return tasks.accesses_of(task); };
        (void)tylo::emulator::launch({.ctas = choice_.workers, .threads = k.threads, .shared_bytes = k.shared_bytes},
                                     how, [entry = k.emulated, arguments] { entry(arguments); });
      } catch (...) {
        failure_ = std::current_exception();
      }
      ended_ = true;
    });
  }

  bool has_ended() override {
    if (!ended_) return false;
    synchronize();
    return true;
  }

  void synchronize() override {
    if (running_.joinable()) running_.join();
    if (failure_ == nullptr) return;
    try {
      std::rethrow_exception(std::exchange(failure_, nullptr));
    } catch (std::exception const& e) {
      throw device_error("emulator device: " + std::string(e.what()));
    }
  }

  void settle() noexcept override {
    if (running_.joinable()) running_.join();
    failure_ = nullptr;
  }

  [[nodiscard]] bool keeps_memory_of_failed_kernels() const override { return true; }
  /// The kernel has the core for itself.
  void rest() override { std::this_thread::sleep_for(std::chrono::microseconds(50)); }
  [[nodiscard]] bool queues_launches() const override { return false; }
  void notify() override {
    std::lock_guard const lock(mutex_);
    ++written_;
    changed_.notify_all();
  }

private:
  /// Waits a short while for the host to write something.
  std::chrono::nanoseconds await_host() {
    auto const start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::microseconds(200), [&] { return written_ != seen_; });
    seen_ = written_;
    return std::chrono::steady_clock::now() - start;
  }

  emulator_device choice_;
  emulated_memory memory_;
  std::thread running_;
  std::atomic<bool> ended_ = true;
  std::exception_ptr failure_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t written_ = 0;
  std::uint64_t seen_ = 0;
};

} // namespace

std::unique_ptr<detail::device> open(emulator_device const& choice) {
  if (choice.kernel == nullptr) throw device_error("emulator device: no kernel instance is given");
  auto const name = "kernel '" + std::string(choice.kernel->name) + "'";
  if (choice.kernel->emulated == nullptr)
    throw device_error("emulator device: " + name + " was built without the emulator");
  if (choice.workers < 1 || choice.workers > most_emulated_workers)
    throw device_error("emulator device: workers is " + std::to_string(choice.workers) + ", 1 to " +
                       std::to_string(most_emulated_workers));
  gpu::settings const settings{.kernel = choice.kernel,
                               .mode = choice.mode,
                               .stuck_after = choice.stuck_after,
                               .idle_after = choice.idle_after,
                               .reserved_bytes = 0,
                               .first_epoch = choice.first_epoch,
                               .drop_signal = choice.drop_signal};
  return std::make_unique<gpu::gpu_device>(settings, std::make_unique<emulated_driver>(choice));
}

} // namespace mk::emulated
