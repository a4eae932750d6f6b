#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/cuda/internal/memory.hpp>
#include <megakernels/runtime/device/ring.hpp>
#include <megakernels/tylo/lane/memory.hpp>

#include "probes.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace mk::bench {
namespace {

using cuda::expect;

struct doorbell_words {
  alignas(128) std::uint32_t asked;
  alignas(128) std::uint32_t answered;
};

constexpr std::uint64_t patience_ns = 2000000000;

__global__ void doorbell_kernel(doorbell_words* words, std::uint32_t count) {
  for (std::uint32_t i = 1; i <= count; ++i) {
    auto const since = tylo::clock_ns();
    std::uint32_t seen = 0;
    do {
      seen = tylo::load_acquire_system(&words->asked);
      if (tylo::clock_ns() - since > patience_ns) return;
    } while (seen != i);
    tylo::store_release_system(&words->answered, seen);
  }
}

struct stream_memory {
  std::byte pages[device::ring_pages][device::page_bytes];
  device::ring_barriers ring;
};

constexpr unsigned stream_consumers = 256;
constexpr unsigned stream_threads = stream_consumers + tylo::warp_size;

struct alignas(16) words {
  std::uint32_t word[4];
};

__global__ void __launch_bounds__(stream_threads, 1)
    stream_kernel(std::byte const* from, std::uint64_t pages, std::uint32_t* sum) {
  auto& memory = *reinterpret_cast<stream_memory*>(tylo::shared_memory());
  auto const thread = tylo::thread_rank();
  if (thread == 0) {
    for (auto& b : memory.ring.full) tylo::init(&b, 1);
    for (auto& b : memory.ring.empty) tylo::init(&b, stream_consumers / tylo::warp_size);
    tylo::publish_barriers();
  }
  tylo::sync_cta();
  if (thread < stream_consumers) {
    device::ring_reader ring(&memory.ring, memory.pages[0]);
    std::uint32_t mine = 0;
    for (std::uint64_t p = tylo::cta_rank(); p < pages; p += tylo::cta_count()) {
      auto const* const page = reinterpret_cast<words const*>(ring.wait_span(1));
      for (unsigned i = thread; i < device::page_bytes / sizeof(words); i += stream_consumers) {
        auto const w = page[i];
        mine += (w.word[0] + w.word[1]) + (w.word[2] + w.word[3]);
      }
      ring.release_span(1);
    }
    tylo::add_release(sum, mine);
  } else if (thread == stream_consumers) {
    device::ring_writer ring(&memory.ring, memory.pages[0]);
    ring.in_flight = device::ring_pages;
    for (std::uint64_t p = tylo::cta_rank(); p < pages; p += tylo::cta_count())
      ring.copy(ring.acquire(1, device::page_bytes), from + p * device::page_bytes, device::page_bytes);
    ring.drain();
  }
}

struct free_event {
  void operator()(cudaEvent_t event) const noexcept { (void)cudaEventDestroy(event); }
};
using event = std::unique_ptr<CUevent_st, free_event>;

event make_event() {
  cudaEvent_t made = nullptr;
  expect(cudaEventCreate(&made), "cudaEventCreate");
  return event(made);
}

std::vector<double> measure_stream() {
  constexpr std::uint64_t bytes = std::uint64_t(1) << 31;
  constexpr std::uint32_t word = 0x01010101;
  cuda::copier memory;
  auto const data = memory.allocate(bytes), sum = memory.allocate(sizeof(std::uint32_t));
  expect(cudaMemset(data.get(), word & 0xFF, bytes), "cudaMemset");
  int multiprocessors = 0;
  expect(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  expect(cudaFuncSetAttribute(stream_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(stream_memory)),
         "cudaFuncSetAttribute");
  auto const before = make_event(), after = make_event();
  std::vector<double> gbytes;
  for (int run = -2; run < 20; ++run) {
    auto* const to = reinterpret_cast<std::uint32_t*>(sum.get());
    expect(cudaMemset(to, 0, sizeof *to), "cudaMemset");
    expect(cudaEventRecord(before.get()), "cudaEventRecord");
    stream_kernel<<<static_cast<unsigned>(multiprocessors), stream_threads, sizeof(stream_memory)>>>(
        data.get(), bytes / device::page_bytes, to);
    expect(cudaGetLastError(), "launch of the stream");
    expect(cudaEventRecord(after.get()), "cudaEventRecord");
    std::uint32_t found = 0;
    expect(cudaMemcpy(&found, to, sizeof found, cudaMemcpyDeviceToHost), "the stream");
    if (found != static_cast<std::uint32_t>(bytes / sizeof word * word)) throw error("stream: the sum is wrong");
    float ms = 0;
    expect(cudaEventElapsedTime(&ms, before.get(), after.get()), "cudaEventElapsedTime");
    if (run >= 0) gbytes.push_back(static_cast<double>(bytes) / 1e6 / static_cast<double>(ms));
  }
  return gbytes;
}

} // namespace

std::vector<double> doorbell_round_trips(std::uint32_t count) {
  using clock = std::chrono::steady_clock;
  cuda::copier copies;
  cuda::pinned_memory const memory(copies, sizeof(doorbell_words));
  auto& words = *memory.host<doorbell_words>();
  doorbell_kernel<<<1, 1>>>(memory.device<doorbell_words>(), count);
  expect(cudaGetLastError(), "launch of the doorbell");
  std::vector<double> us;
  bool answered = true;
  for (std::uint32_t i = 1; answered && i <= count; ++i) {
    auto const start = clock::now();
    std::atomic_ref(words.asked).store(i, std::memory_order_release);
    std::uint32_t seen = i - 1;
    while (seen == i - 1 && clock::now() - start < std::chrono::seconds(1))
      seen = std::atomic_ref(words.answered).load(std::memory_order_acquire);
    us.push_back(std::chrono::duration<double, std::micro>(clock::now() - start).count());
    answered = seen == i;
  }
  expect(cudaDeviceSynchronize(), "the doorbell");
  if (!answered) throw error("doorbell: an answer is missing or wrong");
  return us;
}

std::vector<double> const& stream_rates() {
  static auto const measured = measure_stream();
  return measured;
}

double stream_gbytes() { return std::ranges::max(stream_rates()); }

} // namespace mk::bench
