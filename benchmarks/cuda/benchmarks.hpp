#pragma once

/// What is measured of the cuda device. All on the first GPU, with one worker a multiprocessor unless it says
/// otherwise.

#include "kit/figure.hpp"

#include <string>

namespace mk::bench {

/// GB/s at which a kernel made for it reads memory: what limits are told by.
figure stream();
/// The same through the ring of the persistent kernel, all workers.
figure stream_resident();

/// A task that does nothing, in a list of 4,096 of one worker without waits.
figure task_empty();

/// From `submit` to the return of `wait`, for one task that does nothing on each worker of a resident kernel: all, or
/// one alone.
figure submit_to_done(bool all_workers);

/// The host's store in pinned memory, seen by a kernel, to its answer, seen by the host.
figure doorbell();

/// From task to task of a chain that changes between two workers with each: signal, wait, and a task that does nothing.
/// `streaming`: while all other workers read weights through their rings.
figure counter_edge(bool streaming);

/// A step without tasks, all workers: one of 1,000 more steps of a submission.
figure join();

/// One decode step of batch 1 about position 160, bf16, sampling included, through a resident kernel, and the same
/// nodes as separate kernels of a CUDA graph.
figure decode_smollm2(std::string const& path);
figure decode_llama();

} // namespace mk::bench
