#include <megakernels/runtime/cuda/internal/cuda_driver.hpp>
#include <megakernels/runtime/cuda/internal/launch.hpp>

namespace mk::cuda {

stream_launch::stream_launch(cuda_device const& settings, launcher const& l, resident_image const& image,
                             std::shared_ptr<memory_pool> const& pool, copier& copies)
    : settings_(settings), launcher_(l), image_(image), pool_(pool), copies_(copies), words_(l.workers(), pool, copies),
      slot_bytes_(gpu::slot_bytes_for(image.program(), 0)), host_slot_(copies, slot_bytes_),
      slot_(memory_pool::take(pool, slot_bytes_)) {
  expect(cudaEventCreateWithFlags(&last_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
}

stream_launch::~stream_launch() {
  (void)cudaEventSynchronize(last_);
  (void)cudaEventDestroy(last_);
}

void stream_launch::set(std::unique_ptr<detail::job> next) {
  check();
  auto const& p = image_.program();
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    auto const kind = p.buffers[b].kind;
    auto const* const address = next->addresses[b];
    if ((kind == buffer_kind::input || kind == buffer_kind::output) && address != nullptr &&
        !copies_.is_device_memory(address))
      throw submit_error("program '" + p.name + "': " + std::string(name_of(kind)) + " '" + p.buffers[b].name +
                         "' lies in host memory; launches on streams take memory of the GPU");
  }
  current_.emplace(std::move(next), image_, pool_, copies_);
  current_->write_slot(host_slot_.host(), slot_.get(), 0);
}

void stream_launch::enqueue(CUstream_st* stream) {
  expect_no_failure();
  cudaStreamCaptureStatus status{};
  expect(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  bool const eager = status == cudaStreamCaptureStatusNone;
  if (eager) expect(cudaStreamWaitEvent(stream, last_, 0), "cudaStreamWaitEvent");
  expect(cudaMemcpyAsync(slot_.get(), host_slot_.host(), slot_bytes_, cudaMemcpyHostToDevice, stream),
         "copy of a step");
  auto a = words_.arguments(settings_of(settings_));
  a.slots = slot_.get();
  a.slot_bytes = static_cast<std::uint32_t>(slot_bytes_);
  a.slot_count = 1;
  a.mode = device::kernel_mode::launch;
  launcher_.start(a, stream);
  if (eager) expect(cudaEventRecord(last_, stream), "cudaEventRecord");
}

void stream_launch::check() {
  expect(cudaEventSynchronize(last_), "an earlier launch");
  expect_no_failure();
}

void stream_launch::expect_no_failure() {
  if (words_.aborted()) throw device_error(words_.stuck_report(image_.program(), settings_of(settings_)));
}

} // namespace mk::cuda
