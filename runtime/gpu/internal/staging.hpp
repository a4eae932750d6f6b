#pragma once

/// A job on its way to the GPU: the slot that the kernel reads, and copies of what the caller bound in host memory.

#include <megakernels/runtime/gpu/internal/image.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace mk::gpu {

/// Bytes that the slot of a submission of this program needs, with `feeds` feeds.
std::uint64_t slot_bytes_for(mk::program const&, std::size_t feeds);

class staged_job {
public:
  /// Inputs in host memory are copied to the GPU now.
  staged_job(std::unique_ptr<detail::job>, resident_image const&, std::shared_ptr<memory_pool> const&, gpu_memory&);

  /// Writes the slot as the kernel will find it at `slot` in GPU memory; `to` has room for slot_bytes_for.
  void write_slot(std::byte* to, std::byte* slot, std::uint32_t number) const;

  /// After the run: outputs in host memory are copied from the GPU.
  void fetch_outputs(gpu_memory&) const;

  /// No step needs what an earlier one left in the program's workspace.
  void discard_workspace(gpu_memory&) const;

  [[nodiscard]] detail::job& submitted() const noexcept { return *job_; }

private:
  void name_tensors(gpu_memory&) const;
  /// Memory on the GPU that stands for the caller's: the same where the GPU can use that.
  std::byte* stand_in_for(gpu_memory&, tensor_view const& output);

  struct output {
    std::shared_ptr<std::byte> memory;
    tensor_view to; ///< of the caller
  };

  std::unique_ptr<detail::job> job_;
  resident_image const& image_;
  std::shared_ptr<memory_pool> pool_;
  std::vector<std::byte*> addresses_; ///< of each buffer; null for step values, which travel in the slot
  std::vector<std::shared_ptr<std::byte>> owners_;
  std::vector<output> outputs_;
  std::vector<std::byte*> histories_; ///< of each feed, on the GPU; may be null
};

} // namespace mk::gpu
