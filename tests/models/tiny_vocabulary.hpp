#pragma once

/// A vocabulary small enough to reckon with by hand.

#include "models/text/byte_alphabet.hpp"
#include "models/text/tokenizer_data.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mk::test {

/// Token b is the byte b; then come one token for each merge and at last the special ones.
/// `merges` holds pairs in plain bytes, each of tokens that are there by then.
struct tiny_vocabulary {
  tokenizer_data data;

  explicit tiny_vocabulary(std::vector<std::pair<std::string, std::string>> const& merges) {
    data.source = "tiny.gguf";
    data.pre = "gpt-2";
    for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
    for (auto const& [left, right] : merges) {
      add(left + right);
      data.merges.push_back(alphabet_of_bytes(left) + " " + alphabet_of_bytes(right));
    }
  }

  token_id add(std::string_view bytes) { return add_text(alphabet_of_bytes(bytes), token_type::normal); }

  token_id add_text(std::string text, token_type type) {
    data.tokens.push_back(std::move(text));
    data.types.push_back(type);
    return static_cast<token_id>(data.tokens.size() - 1);
  }
};

} // namespace mk::test
