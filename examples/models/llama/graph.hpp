#pragma once

/// The network as an operation graph.

#include <megakernels/scheduler/graph/graph.hpp>

#include "models/llama/capacity.hpp"
#include "models/llama/config.hpp"

#include <memory>

namespace mk::llama {

/// One step of the model: rows of any number of sequences, as `batch` describes them, prompt and answer rows mixed.
/// Constants have the names of the file's tensors; the cache is the states "k_cache.<layer>" and "v_cache.<layer>".
/// Outputs: "logits" [outputs, vocabulary] fp32 and "next_token" [outputs] int32.
std::unique_ptr<graph> make_graph(config const&, capacity const&);

} // namespace mk::llama
