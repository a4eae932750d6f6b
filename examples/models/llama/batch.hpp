#pragma once

/// The values that change with each step, put together sequence by sequence.

#include <megakernels/runtime/step.hpp>

#include "models/llama/capacity.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace mk::llama {

/// How the next token of a row is drawn; see the operation `sample`.
struct sampling {
  float temperature = 0;  ///< 0: the most likely token
  std::int32_t top_k = 0; ///< 0: off
  float top_p = 1;        ///< 1: off
  std::int32_t seed = 0;
};

/// Rows of one submission. Sequence number s keeps its keys and values in the cache blocks
/// [s * blocks_per_sequence, (s + 1) * blocks_per_sequence).
class batch {
public:
  explicit batch(capacity const& c) : capacity_(c) {}

  /// Adds tokens that follow `past` tokens of the same sequence. Logits are made for the last `outputs` of them.
  /// Throws submit_error naming the sequence and limit where the capacity is exceeded.
  void add(std::int64_t sequence, std::span<std::int32_t const> tokens, std::int64_t past, std::int64_t outputs,
           sampling const& how = {});

  std::int64_t outputs() const { return static_cast<std::int64_t>(output_row_.size()); }

  /// Live lengths and step values of a submission; outputs are still to be bound.
  step to_step() const;

private:
  capacity capacity_;
  std::vector<std::int32_t> token_, position_, sequence_;
  std::vector<std::int32_t> length_, block_table_;
  std::vector<std::int32_t> output_row_, top_k_, seed_, counter_;
  std::vector<float> temperature_, top_p_;
};

} // namespace mk::llama
