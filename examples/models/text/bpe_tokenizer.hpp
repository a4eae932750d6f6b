#pragma once

/// Text to tokens and back, for byte-level BPE vocabularies (GPT-2, Llama 3, SmolLM).

#include "models/text/bpe_merges.hpp"
#include "models/text/pre_tokenizer.hpp"
#include "models/text/tokenizer_data.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mk {

/// How a text is encoded.
struct encode_options {
  bool add_begin = true;      ///< begin with the begin token where the vocabulary means texts to
  bool parse_special = false; ///< the text of a control token becomes that token; keep it off for text from outside
};

/// An immutable vocabulary with its rules. Const members may be called from several threads at a time.
class bpe_tokenizer {
public:
  /// Throws `file_error` naming `data.source` where the pre-tokenizer is unknown, a merge is not "left right", or one
  /// of its three tokens is not in the vocabulary.
  explicit bpe_tokenizer(tokenizer_data data);

  /// The tokens of `text`. User-defined tokens are found always, control tokens where asked; of several at one place
  /// the longest. Bytes that are not UTF-8 each count as a piece of their own. A byte for which the vocabulary has no
  /// token is left out, as by other implementations of such vocabularies.
  [[nodiscard]] std::vector<token_id> encode(std::string_view text, encode_options options = {}) const;

  /// The bytes of a token, for a control token its text. They may begin or end within a character (`utf8_stream`).
  /// Throws `error` where `token` is not in the vocabulary.
  [[nodiscard]] std::string_view decode(token_id token) const;
  [[nodiscard]] std::string decode(std::span<token_id const> tokens) const;

  /// Throws `error` where `token` is not in the vocabulary.
  [[nodiscard]] bool is_control(token_id token) const;
  /// Whether `token` ends a generated text.
  [[nodiscard]] bool is_end(token_id token) const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] tokenizer_data const& data() const noexcept { return data_; }

private:
  struct special_token {
    std::string_view text; // into data_
    token_id token;
    bool is_control;
  };

  void add_vocabulary();
  void add_merges();
  [[nodiscard]] std::optional<token_id> find(std::string_view bytes) const;
  [[nodiscard]] special_token const* special_at(std::string_view text, bool with_control) const noexcept;
  void encode_plain(std::string_view text, std::vector<token_id>& tokens) const;
  void encode_piece(std::string_view piece, std::vector<token_id>& tokens) const;
  void check(token_id token) const;

  tokenizer_data data_;
  pre_tokenizer pre_tokenizer_;
  bool ignores_merges_;
  std::vector<std::string> bytes_;                                // of each token
  std::unordered_map<std::string_view, token_id> token_of_bytes_; // normal tokens; views into bytes_
  std::array<std::vector<special_token>, 256> specials_;          // by their first byte, the longest first
  std::array<token_id, 256> token_of_byte_{};
  bpe_merges merges_;
};

} // namespace mk
