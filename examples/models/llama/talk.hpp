#pragma once

/// The conversation of the command-line programs: load, ask, stream the answer.

#include "models/llama/config.hpp"
#include "models/llama/generator.hpp"
#include "models/llama/options.hpp"

#include <functional>
#include <span>
#include <vector>

namespace mk::llama {

/// A program with what it was made for.
struct made_program {
  program bytes;
  capacity serves;
};

/// Where the programs of a model come from: a compiler, or a file.
using program_source = std::function<std::vector<made_program>(config const&)>;

/// Answers the prompt of `options`: the text to standard output as it is made; progress, device and speed to standard
/// error. Returns the exit code: 0, or 130 where the user interrupted. Throws mk::error.
int talk(options const&, program_source const&);

/// Runs `body`; an exception becomes a line on standard error and exit code 1.
int guarded(char const* program_name, std::function<int()> const& body);

} // namespace mk::llama
