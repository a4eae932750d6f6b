#include "models/llama/batch.hpp"

#include <megakernels/ops/error.hpp>

#include <string>

namespace mk::llama {
namespace {

void expect_at_most(std::int64_t value, std::int64_t limit, std::int64_t sequence, char const* what) {
  if (value <= limit) return;
  throw submit_error("batch: with sequence " + std::to_string(sequence) + " there are " + std::to_string(value) + " " +
                     what + ", the program's capacity is " + std::to_string(limit));
}

} // namespace

void batch::add(std::int64_t sequence, std::span<std::int32_t const> tokens, std::int64_t past, std::int64_t outputs,
                sampling const& how) {
  auto const count = static_cast<std::int64_t>(tokens.size());
  auto const row = static_cast<std::int64_t>(length_.size()); // of the sequence in this submission
  expect_at_most(static_cast<std::int64_t>(token_.size()) + count, capacity_.tokens, sequence, "tokens");
  expect_at_most(row + 1, capacity_.sequences, sequence, "sequences");
  expect_at_most(this->outputs() + outputs, capacity_.outputs, sequence, "rows with logits");
  expect_at_most(past + count, capacity_.context(), sequence, "positions");
  expect_at_most((sequence + 1) * capacity_.blocks_per_sequence, capacity_.blocks, sequence, "cache blocks");
  for (std::int64_t i = 0; i < count; ++i) {
    if (i >= count - outputs) {
      output_row_.push_back(static_cast<std::int32_t>(token_.size()));
      temperature_.push_back(how.temperature);
      top_k_.push_back(how.top_k);
      top_p_.push_back(how.top_p);
      seed_.push_back(how.seed);
      counter_.push_back(static_cast<std::int32_t>(past + i));
    }
    token_.push_back(tokens[static_cast<std::size_t>(i)]);
    position_.push_back(static_cast<std::int32_t>(past + i));
    sequence_.push_back(static_cast<std::int32_t>(row));
  }
  length_.push_back(static_cast<std::int32_t>(past + count));
  for (std::int64_t block = 0; block < capacity_.blocks_per_sequence; ++block)
    block_table_.push_back(static_cast<std::int32_t>(sequence * capacity_.blocks_per_sequence + block));
}

step batch::to_step() const {
  step s;
  s.live("tokens", static_cast<std::int64_t>(token_.size()))
      .live("sequences", static_cast<std::int64_t>(length_.size()))
      .live("outputs", outputs());
  s.values("token", token_).values("position", position_).values("sequence", sequence_);
  s.values("length", length_).values("block_table", block_table_);
  s.values("output_row", output_row_).values("temperature", temperature_).values("top_k", top_k_);
  s.values("top_p", top_p_).values("seed", seed_).values("counter", counter_);
  return s;
}

} // namespace mk::llama
