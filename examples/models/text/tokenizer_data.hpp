#pragma once

/// What a file says about its tokens.

#include <megakernels/runtime/weights/gguf.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mk {

/// Index of a token in its vocabulary.
using token_id = std::int32_t;

/// As GGUF numbers them.
enum class token_type : std::int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

/// The vocabulary of a byte-level BPE and how it is used.
struct tokenizer_data {
  std::string source;              ///< names the file in messages
  std::string pre;                 ///< name of the rules of `pre_tokenizer`
  std::vector<std::string> tokens; ///< normal ones in the byte alphabet, the others as they are
  std::vector<token_type> types;   ///< one for each token
  std::vector<std::string> merges; ///< "left right", the first is done first
  std::optional<token_id> begin;   ///< begins a text
  bool add_begin = false;          ///< whether a text is meant to begin with `begin`
  std::vector<token_id> ends;      ///< each of them ends a generated text; ascending
  std::string chat_template;       ///< as in the file; empty where there is none

  /// The token of that exact text and one of the types control, user_defined and unknown.
  [[nodiscard]] std::optional<token_id> special(std::string_view text) const noexcept;
};

/// Reads the metadata `tokenizer.*`. `ends` gets eos_token_id (one or several), eot_token_id, eom_token_id and the
/// control tokens whose text is known to end a text or a turn, such as <|endoftext|>, <|im_end|> and <|eot_id|>.
/// Throws `file_error` where the model is not "gpt2", a key is missing or has another type, the lengths of arrays
/// differ, or an id is outside the vocabulary.
[[nodiscard]] tokenizer_data read_tokenizer_data(gguf_file const& file);

} // namespace mk
