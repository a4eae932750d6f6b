#pragma once

/// Programs of a model for the host.

#include <megakernels/scheduler/machine.hpp>

#include "models/llama/talk.hpp"

namespace mk::llama {

/// Most prompt tokens that one submission takes.
inline constexpr std::int64_t prompt_chunk = 64;

/// The host as the scheduler sees it; `workers` 0 is one for each core.
machine host_machine(std::int64_t workers);

/// Compiles the model for so much at once; the capacity and the network are noted in the program's metadata.
made_program compile_model(config const&, capacity const&, machine const&);

/// The context that a program gets: what was asked for, at most what the model knows.
std::int64_t context_for(config const&, options const&);

} // namespace mk::llama
