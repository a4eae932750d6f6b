#pragma once

/// A model that the command-line programs can talk with, and whose answers are known.

#include "llama_file.hpp"
#include "models/text/byte_alphabet.hpp"

#include <string>
#include <vector>

namespace mk::test {

/// Token b is the byte b; then come the two markers of ChatML. What follows is in `next`:
///   after "a" comes, without an end, U+20AC "b" U+00E9 "a" and so on;
///   after "q" comes "r" and the end; after a line feed, such as the one before an answer in a chat, "qr" and the end;
///   all other bytes follow themselves.
inline llama_file talking_llama() {
  constexpr std::int32_t end = 257;
  std::vector<std::int32_t> next(258);
  for (std::size_t t = 0; t < next.size(); ++t) next[t] = static_cast<std::int32_t>(t);
  next['a'] = 0xe2;
  next[0xe2] = 0x82;
  next[0x82] = 0xac;
  next[0xac] = 'b';
  next['b'] = 0xc3;
  next[0xc3] = 0xa9;
  next[0xa9] = 'a';
  next['\n'] = 'q';
  next['q'] = 'r';
  next['r'] = end;

  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.push_back(alphabet_of_bytes(std::string(1, static_cast<char>(byte))));
  tokens.insert(tokens.end(), {"<|im_start|>", "<|im_end|>"});
  std::vector<std::int32_t> types(tokens.size(), 1);
  types[256] = types[257] = 3;

  auto file = rigged_llama(next);
  file.text("general.name", "Talking").number("llama.context_length", std::uint32_t(1) << 20);
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  file.texts("tokenizer.ggml.tokens", tokens).integers("tokenizer.ggml.token_type", types);
  file.texts("tokenizer.ggml.merges", {}).number("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(end));
  file.text("tokenizer.chat_template", "<|im_start|><|im_end|>");
  return file;
}

} // namespace mk::test
