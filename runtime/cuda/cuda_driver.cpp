#include <megakernels/runtime/cuda/internal/cuda_driver.hpp>
#include <megakernels/runtime/cuda/internal/launch.hpp>

namespace mk::cuda {

gpu::settings settings_of(cuda_device const& choice) {
  return {.kernel = choice.kernel,
          .mode = choice.mode,
          .stuck_after = choice.stuck_after,
          .idle_after = choice.idle_after,
          .reserved_bytes = choice.reserved_bytes,
          .first_epoch = choice.first_epoch,
          .drop_signal = choice.drop_signal};
}

cuda_driver::cuda_driver(cuda_device const& choice) : choice_(choice), launcher_(choice) {
  expect(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

cuda_driver::~cuda_driver() { (void)cudaStreamDestroy(stream_); }

void cuda_driver::begin_thread() { (void)cudaSetDevice(choice_.ordinal); }

void cuda_driver::copy_slot(std::byte* to, std::byte const* from, std::uint64_t bytes) {
  expect(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copy of a submission");
}

void cuda_driver::start(mk::device::kernel_arguments const& arguments) { launcher_.start(arguments, stream_); }

bool cuda_driver::has_ended() {
  auto const result = cudaStreamQuery(stream_);
  if (result == cudaErrorNotReady) return false;
  expect(result, "the kernel");
  return true;
}

void cuda_driver::synchronize() { expect(cudaStreamSynchronize(stream_), "the kernel"); }

void cuda_driver::settle() noexcept {
  (void)cudaStreamSynchronize(stream_);
  (void)cudaGetLastError();
}

std::unique_ptr<detail::prepared_launch> cuda_driver::prepare(gpu::resident_image const& image,
                                                              std::shared_ptr<memory_pool> const& pool) {
  return std::make_unique<stream_launch>(choice_, launcher_, image, pool, copies_);
}

} // namespace mk::cuda
