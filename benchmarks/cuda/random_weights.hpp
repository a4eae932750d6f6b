#pragma once

/// Weights of a model that has none: numbers that keep the activations of a network of the Llama family near 1.

#include <megakernels/runtime/tensor.hpp>
#include <megakernels/scheduler/program/program.hpp>

#include <map>
#include <memory>
#include <string>

namespace mk::bench {

using named_tensors = std::map<std::string, std::shared_ptr<tensor const>>;

/// For each constant of a program: matrices uniform with variance 1 / (length of their rows), gains of norms from 0.9
/// to 1.1, rotary divisors 1. Element i of a constant depends on its name and i only. All cores work.
named_tensors make_random_constants(program const&);

} // namespace mk::bench
