#pragma once

/// What a program file tells about the model and the batches that it was made for.

#include "models/llama/capacity.hpp"
#include "models/llama/config.hpp"

#include <string>
#include <string_view>

namespace mk::llama {

/// Text for program::metadata, and back. `read_capacity` throws program_error where the text is not that of a program
/// made for a model of this family.
std::string to_metadata(capacity const&, config const&);
capacity read_capacity(std::string_view metadata);

/// Throws program_error, naming both models and what differs, unless the program was made for a network like that of
/// `model`: sizes and constants are equal. The weights may be others.
void expect_made_for(config const& model, std::string_view metadata);

} // namespace mk::llama
