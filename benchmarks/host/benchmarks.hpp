#pragma once

/// What is measured of the host device.

#include "kit/figure.hpp"

#include <cstddef>
#include <cstdint>

namespace mk::bench {

/// Threads that measurements use: one for each core.
std::int64_t cores();

/// GB/s at which all cores together read memory: sums over a buffer of 1 GiB, the best of which is `stream_gbytes`.
figure stream();
double stream_gbytes();

/// SmolLM2-135M with bf16 weights and activations, one token of each of `sequences` texts a submission, 48 to 80
/// tokens into the text. The limit is the time to read all weights and the cache.
figure decode_smollm2(std::int64_t sequences);

/// From opening the file of SmolLM2-135M to weights that a session can use. The limit is the time to move the file and
/// the converted weights.
figure load_smollm2();

/// Compiles the graph of one decode step of a model of the size of Llama-3.2-1B with 32 layers for 132 workers.
figure compile_llama();

/// Time of a task that adds one to one number, in a list of 4,096 of one worker.
figure task_empty();

/// From `submit` to the return of `wait`, for one such task on each core.
figure submit_to_done_empty();

} // namespace mk::bench
