#include "models/text/tokenizer_data.hpp"

#include "models/text/pre_tokenizer.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace mk {
namespace {

constexpr std::array<std::string_view, 7> end_texts = {
    "<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|endofturn|>",
};

constexpr std::array end_keys = {
    "tokenizer.ggml.eos_token_id",
    "tokenizer.ggml.eos_token_ids",
    "tokenizer.ggml.eot_token_id",
    "tokenizer.ggml.eom_token_id",
};

std::vector<std::string> copies(std::span<std::string_view const> texts) { return {texts.begin(), texts.end()}; }

token_id checked_id(gguf_file const& file, std::string_view key, std::int64_t id, std::size_t vocabulary) {
  if (id < 0 || static_cast<std::uint64_t>(id) >= vocabulary)
    file.refuse(key, "is " + std::to_string(id) + ", the vocabulary has " + std::to_string(vocabulary) + " tokens");
  return static_cast<token_id>(id);
}

std::vector<token_type> read_types(gguf_file const& file, std::size_t vocabulary) {
  constexpr auto key = "tokenizer.ggml.token_type";
  auto const numbers = file.optional_integers(key);
  if (!numbers) return std::vector<token_type>(vocabulary, token_type::normal);
  if (numbers->size() != vocabulary)
    file.refuse(key,
                "has " + std::to_string(numbers->size()) + " elements for " + std::to_string(vocabulary) + " tokens");
  std::vector<token_type> types;
  types.reserve(vocabulary);
  for (auto const number : *numbers) {
    if (number < 1 || number > 6)
      file.refuse(key, "holds " + std::to_string(number) + ", which is not a type of token");
    types.push_back(static_cast<token_type>(number));
  }
  return types;
}

std::vector<token_id> read_ends(gguf_file const& file, tokenizer_data const& data) {
  std::vector<token_id> ends;
  for (std::string_view const key : end_keys)
    if (auto const ids = file.optional_integers(key))
      for (auto const id : *ids) ends.push_back(checked_id(file, key, id, data.tokens.size()));
  for (std::size_t i = 0; i < data.tokens.size(); ++i)
    if (data.types[i] == token_type::control && std::ranges::count(end_texts, data.tokens[i]) != 0)
      ends.push_back(static_cast<token_id>(i));
  std::ranges::sort(ends);
  ends.erase(std::ranges::unique(ends).begin(), ends.end());
  return ends;
}

} // namespace

std::optional<token_id> tokenizer_data::special(std::string_view text) const noexcept {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    auto const type = types[i];
    auto const is_special =
        type == token_type::control || type == token_type::user_defined || type == token_type::unknown;
    if (is_special && tokens[i] == text) return static_cast<token_id>(i);
  }
  return std::nullopt;
}

tokenizer_data read_tokenizer_data(gguf_file const& file) {
  auto const model = file.required_string("tokenizer.ggml.model");
  if (model != "gpt2")
    file.refuse("tokenizer.ggml.model", "is " + printable(model) + ", only byte-level BPE, \"gpt2\", is supported");
  tokenizer_data data;
  data.source = file.name();
  data.pre = file.optional_string("tokenizer.ggml.pre").value_or("default");
  data.tokens = copies(file.required_strings("tokenizer.ggml.tokens"));
  auto const vocabulary = data.tokens.size();
  if (vocabulary == 0 || vocabulary > std::numeric_limits<token_id>::max())
    file.refuse("tokenizer.ggml.tokens", "has " + std::to_string(vocabulary) + " elements");
  data.types = read_types(file, vocabulary);
  data.merges = copies(file.required_strings("tokenizer.ggml.merges"));

  constexpr auto begin_key = "tokenizer.ggml.bos_token_id";
  if (auto const begin = file.optional_integers(begin_key)) {
    if (begin->size() != 1) file.refuse(begin_key, "is not one id");
    data.begin = checked_id(file, begin_key, begin->front(), vocabulary);
  }
  // Files of Llama 3 leave the key out and mean true.
  data.add_begin = file.optional_bool("tokenizer.ggml.add_bos_token").value_or(ignores_merges(data.pre));
  if (data.add_begin && !data.begin) file.refuse(begin_key, "is missing, though texts begin with it");
  data.ends = read_ends(file, data);
  data.chat_template = file.optional_string("tokenizer.chat_template").value_or("");
  return data;
}

} // namespace mk
