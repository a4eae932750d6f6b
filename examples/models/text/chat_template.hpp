#pragma once

/// Conversations as the text that a model was trained on.

#include "models/text/bpe_tokenizer.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mk {

struct chat_message {
  std::string role; ///< "system", "user" or "assistant"
  std::string content;
};

/// A part of a rendered conversation: either the text of one control token, or plain text.
struct prompt_piece {
  std::string text;
  bool is_marker;
};

/// The form that the template of a file describes. Templates are programs; this one is recognised, not run:
///   ChatML, where it holds <|im_start|> and <|im_end|>, with the default system message that it gives, if any;
///   Llama 3, where it holds <|start_header_id|>, <|end_header_id|> and <|eot_id|>, contents without blanks around
///   them.
/// What templates add for tools, or as the date of the day, is left out.
class chat_template {
public:
  /// Throws `file_error` naming `source` where `text` is empty or of neither form.
  chat_template(std::string_view text, std::string_view source);

  /// The conversation up to where an answer begins. The begin token of a text is not part of it.
  /// A default system message precedes messages that do not begin with a system message.
  [[nodiscard]] std::vector<prompt_piece> render(std::span<chat_message const> messages) const;

  /// The tokens of `render(messages)`, after the begin token where the vocabulary means texts to have one. The text of
  /// control tokens within contents stays text. Throws `file_error` where the vocabulary lacks a marker.
  [[nodiscard]] std::vector<token_id> encode(std::span<chat_message const> messages,
                                             bpe_tokenizer const& tokenizer) const;

  /// The text of the token that ends a message, "<|im_end|>" or "<|eot_id|>".
  [[nodiscard]] std::string_view end_marker() const noexcept;

  /// Every token that ends an answer: those of the vocabulary and the end marker. Ascending.
  /// Throws `file_error` where the vocabulary lacks the marker.
  [[nodiscard]] std::vector<token_id> end_tokens(tokenizer_data const& data) const;

  /// Empty where the template gives none.
  [[nodiscard]] std::string const& default_system() const noexcept { return default_system_; }

private:
  enum class form { chatml, llama3 };

  form form_;
  std::string default_system_;
};

} // namespace mk
