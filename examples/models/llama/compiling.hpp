#pragma once

/// Programs of a model.

#include <megakernels/scheduler/machine.hpp>

#include "models/llama/talk.hpp"

namespace mk::llama {

/// Most prompt tokens that one submission takes.
inline constexpr std::int64_t prompt_chunk = 64;

/// A device as the scheduler sees it; `workers` 0 is one for each core or multiprocessor, 2 on the emulator. Throws
/// device_error where the device is not there.
machine machine_for(device_choice const&, std::int64_t workers);
machine host_machine(std::int64_t workers);

/// Compiles the model for so much at once; the capacity and the network are noted in the program's metadata.
made_program compile_model(config const&, capacity const&, machine const&);

/// The context that a program gets: what was asked for, at most what the model knows.
std::int64_t context_for(config const&, options const&);

} // namespace mk::llama
