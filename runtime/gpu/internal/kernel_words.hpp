#pragma once

/// The words by which a host and a kernel talk, on both sides.

#include <megakernels/runtime/device/layout.hpp>
#include <megakernels/runtime/gpu/internal/memory.hpp>
#include <megakernels/runtime/kernel_instance.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace mk::gpu {

class kernel_words {
public:
  kernel_words(std::uint32_t workers, std::shared_ptr<memory_pool> const&, gpu_memory&);

  /// As if no kernel had ever run. None may.
  void reset(gpu_memory&);
  /// Lets the next resident kernel stay.
  void clear_exit(gpu_memory&);

  /// Arguments of a kernel that has these words; slots are still to be given.
  [[nodiscard]] device::kernel_arguments arguments(gpu::settings const&) const;

  void ring(std::uint32_t submissions) const;
  void request_exit() const;
  [[nodiscard]] std::uint32_t completed() const;
  [[nodiscard]] bool aborted() const;
  /// What the waits that gave up were for.
  [[nodiscard]] std::string stuck_report(program const&, gpu::settings const&) const;
  /// Which nodes the consumers of a kernel are at that was launched for one submission: a line for each node.
  [[nodiscard]] std::string report_of_tasks(program const&, gpu::settings const&, gpu_memory&) const;

private:
  std::uint32_t workers_;
  pinned_memory mail_;
  pinned_memory reports_;
  std::shared_ptr<std::byte> words_; ///< kernel_state, then the progress of each worker
};

} // namespace mk::gpu
