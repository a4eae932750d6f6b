#pragma once

/// A GPU by the CUDA runtime.

#include <megakernels/runtime/cuda/internal/launcher.hpp>
#include <megakernels/runtime/cuda/internal/memory.hpp>
#include <megakernels/runtime/gpu/internal/driver.hpp>

namespace mk::cuda {

/// What shared code needs to know of a choice.
gpu::settings settings_of(cuda_device const&);

class cuda_driver final : public gpu::driver {
public:
  explicit cuda_driver(cuda_device const&);
  ~cuda_driver() override;
  cuda_driver(cuda_driver const&) = delete;
  cuda_driver& operator=(cuda_driver const&) = delete;

  [[nodiscard]] std::string name() const override { return "cuda device"; }
  [[nodiscard]] gpu::gpu_memory& memory() override { return copies_; }
  [[nodiscard]] std::uint32_t workers() const override { return launcher_.workers(); }
  void begin_thread() override;
  void copy_slot(std::byte* to, std::byte const* from, std::uint64_t bytes) override;
  void start(mk::device::kernel_arguments const&) override;
  bool has_ended() override;
  void synchronize() override;
  void settle() noexcept override;
  std::unique_ptr<detail::prepared_launch> prepare(gpu::resident_image const&,
                                                   std::shared_ptr<memory_pool> const&) override;

private:
  cuda_device choice_;
  launcher launcher_;
  copier copies_;
  cudaStream_t stream_ = nullptr;
};

} // namespace mk::cuda
