#pragma once

/// What the device of a session asks of the GPU that it runs on, whether that is there or emulated.

#include <megakernels/runtime/device.hpp>
#include <megakernels/runtime/device/layout.hpp>
#include <megakernels/runtime/internal/device.hpp>
#include <megakernels/runtime/kernel_instance.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace mk::gpu {

class memory_pool;
class resident_image;

/// Memory of a GPU, and memory of the host that it sees at the same time. Copies need no multiprocessor: they work
/// beside a resident kernel, and are done when a function returns. May be used by several threads.
class gpu_memory {
public:
  virtual ~gpu_memory() = default;

  /// Memory of the GPU. Throws std::bad_alloc.
  virtual std::shared_ptr<std::byte> allocate(std::uint64_t bytes) = 0;
  /// Whether `allocate` returns while a kernel is resident.
  [[nodiscard]] virtual bool allocates_beside_kernels() const = 0;
  /// Memory of the host that a kernel can use, zero at first; and the address by which a kernel finds it.
  virtual std::shared_ptr<std::byte> allocate_pinned(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual std::byte* device_address(std::byte* pinned) const = 0;

  virtual void to_device(std::byte* to, std::byte const* from, std::uint64_t bytes) = 0;
  virtual void to_host(std::byte* to, std::byte const* from, std::uint64_t bytes) = 0;
  virtual void zero(std::byte* to, std::uint64_t bytes) = 0;
  /// No kernel writes there from now on.
  virtual void hold_constant(std::byte const*, std::uint64_t) {}
  /// What is there is not needed any more.
  virtual void discard(std::byte*, std::uint64_t) {}
  /// Whether there are reports about memory, which call it by names.
  [[nodiscard]] virtual bool makes_reports() const { return false; }
  virtual void name(std::byte const*, std::uint64_t, std::string_view) {}

  /// Whether a kernel can use the address as it is.
  [[nodiscard]] virtual bool is_device_memory(void const* address) const = 0;
};

class driver {
public:
  virtual ~driver() = default;

  /// "cuda device", for errors.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual gpu::gpu_memory& memory() = 0;
  /// Of every launch.
  [[nodiscard]] virtual std::uint32_t workers() const = 0;
  /// At the start of a thread that uses the driver.
  virtual void begin_thread() {}

  /// Copies `bytes` bytes of a slot, ahead of the kernel that is started next.
  virtual void copy_slot(std::byte* to, std::byte const* from, std::uint64_t bytes) = 0;
  virtual void start(mk::device::kernel_arguments const&) = 0;
  /// Throws device_error where the kernel failed.
  virtual bool has_ended() = 0;
  virtual void synchronize() = 0;
  /// The same, whatever became of it.
  virtual void settle() noexcept = 0;
  /// Whether the memory can be read when a kernel has failed.
  [[nodiscard]] virtual bool keeps_memory_of_failed_kernels() const { return false; }
  /// What the host does between two looks at a running kernel.
  virtual void rest() { std::this_thread::yield(); }
  /// Whether launches wait for one another by themselves. Otherwise each is started when the one before has ended, and
  /// its submission is done no earlier: what a kernel does wrong is then found in time.
  [[nodiscard]] virtual bool queues_launches() const { return true; }
  /// The host has written a word that a running kernel looks at.
  virtual void notify() {}

  virtual std::unique_ptr<detail::prepared_launch> prepare(resident_image const&, std::shared_ptr<memory_pool> const&) {
    throw device_error("this device runs submissions on no stream: only a cuda device does");
  }
};

/// What a cuda device and an emulated one are told alike.
struct settings {
  kernel_instance const* kernel;
  run_mode mode;
  std::chrono::nanoseconds stuck_after;
  std::chrono::nanoseconds idle_after;
  std::uint64_t reserved_bytes;
  std::uint32_t first_epoch;
  std::optional<std::uint32_t> drop_signal;
};

} // namespace mk::gpu
