#pragma once

/// A program as the kernel reads it, in GPU memory.

#include <megakernels/runtime/device/layout.hpp>
#include <megakernels/runtime/gpu/internal/memory.hpp>
#include <megakernels/runtime/internal/device.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace mk::gpu {

class resident_image {
public:
  /// Uploads the program; its counters and epoch are as after a step with number `epoch`.
  resident_image(std::shared_ptr<detail::loaded_program const>, std::shared_ptr<memory_pool> const&, gpu_memory&,
                 std::uint32_t epoch);

  /// As if a step with that number had just ended. The program must not run.
  void set_epoch(gpu_memory&, std::uint32_t last);
  [[nodiscard]] std::uint32_t epoch(gpu_memory&) const;
  [[nodiscard]] std::vector<std::uint32_t> counters(gpu_memory&) const;

  [[nodiscard]] mk::program const& program() const noexcept { return loaded_->program; }
  [[nodiscard]] std::shared_ptr<std::byte> const& memory() const noexcept { return memory_; }
  /// The program_image that submissions name.
  [[nodiscard]] device::program_image const* address() const noexcept {
    return reinterpret_cast<device::program_image const*>(memory_.get());
  }

private:
  std::shared_ptr<detail::loaded_program const> loaded_;
  std::shared_ptr<std::byte> memory_;
  std::byte* counters_ = nullptr; ///< followed by the epoch
};

} // namespace mk::gpu
