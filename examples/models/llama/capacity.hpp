#pragma once

/// For how much at once a program of a model is made.

#include <megakernels/ops/tensor.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace mk::llama {

/// A program serves every length and batch up to this.
struct capacity {
  std::int64_t tokens = 1;              ///< rows of one submission, over all sequences
  std::int64_t sequences = 1;           ///< in one submission
  std::int64_t outputs = 1;             ///< rows of one submission for which logits are made
  std::int64_t blocks_per_sequence = 1; ///< of the cache
  std::int64_t blocks = 1;              ///< in the whole cache
  std::int64_t block_tokens = 64;
  std::int64_t positions = std::numeric_limits<std::int64_t>::max(); ///< of one sequence; at most what its blocks hold
  data_type activations = data_type::bf16; ///< of all values between operations, and of the cache
  data_type weights = data_type::bf16;

  /// Most positions of one sequence.
  std::int64_t context() const { return std::min(positions, blocks_per_sequence * block_tokens); }
};

/// One sequence at a time, `tokens` rows a submission, `context` positions.
capacity single_sequence(std::int64_t tokens, std::int64_t context);

} // namespace mk::llama
