#pragma once

/// For how much at once a program of a model is made, and how a program file tells.

#include <megakernels/ops/tensor.hpp>

#include "models/llama/config.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mk::llama {

/// A program serves every length and batch up to this.
struct capacity {
  std::int64_t tokens = 1;              ///< rows of one submission, over all sequences
  std::int64_t sequences = 1;           ///< in one submission
  std::int64_t outputs = 1;             ///< rows of one submission for which logits are made
  std::int64_t blocks_per_sequence = 1; ///< cache blocks: the longest context is this times block_tokens
  std::int64_t blocks = 1;              ///< in the whole cache
  std::int64_t block_tokens = 64;
  data_type activations = data_type::bf16; ///< of all values between operations, and of the cache
  data_type weights = data_type::bf16;

  std::int64_t context() const { return blocks_per_sequence * block_tokens; }
};

/// Text for program::metadata, and back. `read_capacity` throws program_error where the text is not that of a program
/// made for a model of this family.
std::string to_metadata(capacity const&);
capacity read_capacity(std::string_view metadata);

/// One sequence at a time, `tokens` rows a submission, `context` positions.
capacity single_sequence(std::int64_t tokens, std::int64_t context);

} // namespace mk::llama
