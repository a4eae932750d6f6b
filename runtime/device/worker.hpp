#pragma once

/// A worker of the persistent kernel: one CTA, roles by warp.

#include <megakernels/runtime/device/consumer.hpp>
#include <megakernels/runtime/device/control.hpp>
#include <megakernels/runtime/device/watcher.hpp>

namespace mk::device {

/// A worker's dynamic shared memory.
struct worker_memory {
  std::byte pages[ring_pages][page_bytes];
  alignas(128) std::byte scratch[scratch_bytes];
  ring_barriers ring;
  task_queue queue;
};

/// Threads of a worker: one warpgroup of control, loader and watcher, then the consumers.
inline constexpr unsigned warpgroup_threads = 128;
template <unsigned Groups> inline constexpr unsigned worker_threads = warpgroup_threads * (1 + Groups);

/// Registers of each role's threads. At the start all have what 65,536 registers give each of the worker's threads.
template <unsigned Groups> inline constexpr unsigned loader_registers = Groups == 3 ? 32 : 40;
template <unsigned Groups> inline constexpr unsigned consumer_registers = Groups == 3 ? 160 : 232;

TYLO_FN inline void init_barriers(worker_memory& m, unsigned consumer_warps) {
  for (auto& b : m.ring.full) tylo::init(&b, 1);
  for (auto& b : m.ring.empty) tylo::init(&b, consumer_warps);
  for (auto& b : m.queue.decoded) tylo::init(&b, 1);
  for (auto& b : m.queue.ready) tylo::init(&b, 1);
  for (auto& b : m.queue.done) tylo::init(&b, 3); // loader, watcher, consumers
  tylo::publish_barriers();
}

/// What every thread of the kernel does.
template <class List, unsigned Groups> TYLO_FN void run_worker(kernel_arguments const& arguments) {
  auto& memory = *reinterpret_cast<worker_memory*>(tylo::shared_memory());
  auto const thread = tylo::thread_rank();
  if (thread == 0) init_barriers(memory, Groups * warpgroup_threads / tylo::warp_size);
  tylo::sync_cta();

  if (thread < warpgroup_threads) {
    tylo::shrink_registers<loader_registers<Groups>>();
    auto const warp = thread / tylo::warp_size;
    bool const elected = tylo::lane_rank() == 0;
    if (warp == 0)
      control_role(arguments, &memory.queue).run();
    else if (warp == 1 && elected)
      run_loader<List>(&memory.queue, ring_writer(&memory.ring, memory.pages[0]),
                       Groups * warpgroup_threads / tylo::warp_size);
    else if (warp == 2 && elected)
      watcher_role(arguments, &memory.queue).run();
  } else {
    tylo::grow_registers<consumer_registers<Groups>>();
    run_consumers<List, Groups * warpgroup_threads>(arguments, &memory.queue,
                                                    ring_reader(&memory.ring, memory.pages[0]), memory.scratch,
                                                    thread - warpgroup_threads);
  }
}

} // namespace mk::device
