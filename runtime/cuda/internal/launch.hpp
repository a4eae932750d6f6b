#pragma once

/// A program on the caller's streams: a slot, mailbox and state of its own.

#include <megakernels/runtime/cuda/internal/launcher.hpp>
#include <megakernels/runtime/gpu/internal/image.hpp>
#include <megakernels/runtime/gpu/internal/kernel_words.hpp>
#include <megakernels/runtime/gpu/internal/staging.hpp>

#include <memory>
#include <optional>

namespace mk::cuda {

using gpu::kernel_words;
using gpu::resident_image;
using gpu::staged_job;

class stream_launch final : public detail::prepared_launch {
public:
  stream_launch(cuda_device const&, launcher const&, resident_image const&, std::shared_ptr<memory_pool> const&,
                copier&);
  ~stream_launch() override;
  stream_launch(stream_launch const&) = delete;
  stream_launch& operator=(stream_launch const&) = delete;

  void set(std::unique_ptr<detail::job>) override;
  void enqueue(CUstream_st*) override;
  void check() override;

private:
  void expect_no_failure();

  cuda_device settings_;
  launcher const& launcher_;
  resident_image const& image_;
  std::shared_ptr<memory_pool> pool_;
  copier& copies_;
  kernel_words words_;
  std::uint64_t slot_bytes_;
  pinned_memory host_slot_;
  std::shared_ptr<std::byte> slot_;
  std::optional<staged_job> current_;
  cudaEvent_t last_ = nullptr; ///< the end of the last eager launch
};

} // namespace mk::cuda
