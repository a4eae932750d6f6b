#include "models/llama/compiling.hpp"

#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/kernel_instance.hpp>
#include <megakernels/scheduler/compile.hpp>

#include "models/llama/graph.hpp"
#include "models/llama/metadata.hpp"

#include <algorithm>
#include <thread>

namespace mk::llama {

namespace {

machine machine_of(host_device const&, std::int64_t workers) {
  if (workers == 0) workers = std::max(1u, std::thread::hardware_concurrency());
  return {.workers = workers, .bytes_per_second = 8e9, .operations_per_second = 30e9, .task_seconds = 1e-6};
}

machine machine_of(cuda_device const& gpu, std::int64_t workers) {
  if (workers == 0) workers = gpu.kernel->cuda->most_workers(gpu);
  return {.workers = workers, .bytes_per_second = 30e9, .operations_per_second = 100e9, .task_seconds = 2e-7};
}

machine machine_of(emulator_device const& emulated, std::int64_t workers) {
  if (workers == 0) workers = emulated.workers;
  return {.workers = workers, .bytes_per_second = 30e9, .operations_per_second = 100e9, .task_seconds = 2e-7};
}

} // namespace

machine machine_for(device_choice const& device, std::int64_t workers) {
  return std::visit([&](auto const& of) { return machine_of(of, workers); }, device);
}

machine host_machine(std::int64_t workers) { return machine_for(host_device{}, workers); }

made_program compile_model(config const& c, capacity const& serves, machine const& m) {
  auto p = compile(*make_graph(c, serves), m, llama_operations);
  p.metadata = to_metadata(serves, c);
  return {std::move(p), serves};
}

std::int64_t context_for(config const& c, options const& o) { return std::min(c.context, o.context); }

} // namespace mk::llama
