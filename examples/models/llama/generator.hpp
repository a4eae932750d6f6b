#pragma once

/// One conversation: prompt in, tokens out, on whatever device the session has.

#include <megakernels/runtime/session.hpp>

#include "models/llama/batch.hpp"
#include "models/llama/capacity.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace mk::llama {

/// A loaded program of a model.
struct loaded_program {
  program_id id;
  capacity serves;
};

/// Feeds one sequence (number 0) through programs that share its state: each chunk goes to the program of least
/// capacity that takes it.
class generator {
public:
  /// `programs` is not empty; `vocabulary` as in the model's config.
  generator(session&, std::vector<loaded_program> programs, std::int64_t vocabulary);

  /// Appends tokens to the sequence, without an answer. Throws submit_error where the context is full.
  void append(std::span<std::int32_t const> tokens);

  /// Appends tokens, one or more, and returns the token drawn after them, or -1 where the logits hold no number to draw
  /// from. Throws submit_error for no tokens and where the context is full.
  std::int32_t feed(std::span<std::int32_t const> tokens, sampling const&);

  /// Most tokens that are fed in one submission.
  std::int64_t chunk() const { return programs_.back().serves.tokens; }

  /// Positions used so far, and the most there can be.
  std::int64_t length() const { return length_; }
  std::int64_t context() const { return programs_.back().serves.context(); }

  /// Logits of the last token that was fed, fp32, one a vocabulary entry.
  std::span<float const> logits() const { return logits_.span<float>(); }

private:
  loaded_program const& program_for(std::int64_t tokens) const;
  void expect_room(std::size_t tokens) const;
  void submit(std::span<std::int32_t const> tokens, std::int64_t outputs, sampling const&);

  session& session_;
  std::vector<loaded_program> programs_; // by rising number of tokens
  tensor logits_;
  tensor next_;
  std::int64_t length_ = 0;
};

/// Why an answer ended.
enum class finish { end_token, length, context_full, no_number, interrupted };

/// How an answer is made.
struct answer_options {
  sampling how = {};
  std::int64_t max_tokens = 512;
  std::span<std::int32_t const> end_tokens = {};
  std::function<bool()> interrupted = [] { return false; };
};

struct answer_times {
  std::int64_t prompt_tokens = 0; ///< that were fed
  double prompt_seconds = 0;      ///< until the first token is known
  std::int64_t tokens = 0;        ///< without an end token
  double seconds = 0;             ///< for all tokens after the first
  finish why = finish::length;
};

/// Feeds the prompt and hands each token of the answer to `emit` as soon as it is known. End tokens are not emitted.
/// `interrupted` is asked between submissions. Throws submit_error for a prompt without tokens or without room.
answer_times answer(generator&, std::span<std::int32_t const> prompt, answer_options const&,
                    std::function<void(std::int32_t)> const& emit);

} // namespace mk::llama
