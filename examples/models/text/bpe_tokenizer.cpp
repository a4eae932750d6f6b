#include "models/text/bpe_tokenizer.hpp"

#include <megakernels/ops/error.hpp>

#include "models/text/byte_alphabet.hpp"

#include <algorithm>
#include <utility>

namespace mk {
namespace {

constexpr token_id no_token = -1;

std::size_t index_of(char byte) { return static_cast<unsigned char>(byte); }

pre_tokenizer make_pre_tokenizer(tokenizer_data const& data) {
  try {
    return pre_tokenizer(data.pre);
  } catch (error const& cause) {
    throw file_error(data.source + ": tokenizer.ggml.pre: " + cause.what());
  }
}

} // namespace

bpe_tokenizer::bpe_tokenizer(tokenizer_data data)
    : data_(std::move(data)), pre_tokenizer_(make_pre_tokenizer(data_)), ignores_merges_(ignores_merges(data_.pre)) {
  if (data_.types.size() != data_.tokens.size())
    throw file_error(data_.source + ": " + std::to_string(data_.types.size()) + " token types for " +
                     std::to_string(data_.tokens.size()) + " tokens");
  add_vocabulary();
  add_merges();
}

void bpe_tokenizer::add_vocabulary() {
  // Views into the strings are kept, so the vector must not move them.
  bytes_.reserve(data_.tokens.size());
  for (std::size_t i = 0; i < data_.tokens.size(); ++i) {
    auto const& text = data_.tokens[i];
    auto const token = static_cast<token_id>(i);
    auto const type = data_.types[i];
    if (type == token_type::control || type == token_type::user_defined || type == token_type::unknown) {
      bytes_.push_back(text);
      if (!text.empty()) specials_[index_of(text[0])].push_back({text, token, type != token_type::user_defined});
      continue;
    }
    auto bytes = bytes_of_alphabet(text);
    bytes_.push_back(bytes ? *std::move(bytes) : text);
    if (bytes) token_of_bytes_.try_emplace(bytes_.back(), token);
  }
  for (auto& list : specials_)
    std::ranges::stable_sort(list, std::ranges::greater(), [](special_token const& s) { return s.text.size(); });
  token_of_byte_.fill(no_token);
  for (auto const& [bytes, token] : token_of_bytes_)
    if (bytes.size() == 1) token_of_byte_[index_of(bytes[0])] = token;
}

void bpe_tokenizer::add_merges() {
  for (std::size_t i = 0; i < data_.merges.size(); ++i) {
    auto const fail = [&](std::string const& cause) {
      throw file_error(data_.source + ": tokenizer.ggml.merges: element " + std::to_string(i) + ", " +
                       printable(data_.merges[i]) + ", " + cause);
    };
    auto const& text = data_.merges[i];
    auto const blank = text.find(' ');
    if (blank == std::string::npos || text.find(' ', blank + 1) != std::string::npos) fail("is not two tokens");
    auto const token = [&](std::string_view part) {
      auto const bytes = bytes_of_alphabet(part);
      auto const found = bytes ? find(*bytes) : std::nullopt;
      if (!found) fail("needs the token " + printable(part) + ", which the vocabulary lacks");
      return found.value_or(no_token);
    };
    auto const left = text.substr(0, blank);
    auto const right = text.substr(blank + 1);
    merges_.add(token(left), token(right), token(left + right), static_cast<std::uint32_t>(i));
  }
}

std::optional<token_id> bpe_tokenizer::find(std::string_view bytes) const {
  auto const found = token_of_bytes_.find(bytes);
  return found == token_of_bytes_.end() ? std::nullopt : std::optional(found->second);
}

bpe_tokenizer::special_token const* bpe_tokenizer::special_at(std::string_view text, bool with_control) const noexcept {
  for (auto const& special : specials_[index_of(text[0])])
    if ((with_control || !special.is_control) && text.starts_with(special.text)) return &special;
  return nullptr;
}

std::vector<token_id> bpe_tokenizer::encode(std::string_view text, encode_options options) const {
  std::vector<token_id> tokens;
  if (options.add_begin && data_.add_begin && data_.begin) tokens.push_back(*data_.begin);
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    auto const* const special = special_at(text.substr(at), options.parse_special);
    if (special == nullptr) {
      ++at;
      continue;
    }
    encode_plain(text.substr(done, at - done), tokens);
    tokens.push_back(special->token);
    done = at += special->text.size();
  }
  encode_plain(text.substr(done), tokens);
  return tokens;
}

void bpe_tokenizer::encode_plain(std::string_view text, std::vector<token_id>& tokens) const {
  for (auto const piece : pre_tokenizer_.split(text)) encode_piece(piece, tokens);
}

void bpe_tokenizer::encode_piece(std::string_view piece, std::vector<token_id>& tokens) const {
  if (ignores_merges_)
    if (auto const whole = find(piece)) return tokens.push_back(*whole);
  std::vector<token_id> merged;
  merged.reserve(piece.size());
  for (char const byte : piece)
    if (auto const token = token_of_byte_[index_of(byte)]; token != no_token) merged.push_back(token);
  merges_.apply(merged);
  tokens.insert(tokens.end(), merged.begin(), merged.end());
}

std::string_view bpe_tokenizer::decode(token_id token) const {
  check(token);
  return bytes_[static_cast<std::size_t>(token)];
}

std::string bpe_tokenizer::decode(std::span<token_id const> tokens) const {
  std::string text;
  for (auto const token : tokens) text += decode(token);
  return text;
}

bool bpe_tokenizer::is_control(token_id token) const {
  check(token);
  return data_.types[static_cast<std::size_t>(token)] == token_type::control;
}

bool bpe_tokenizer::is_end(token_id token) const noexcept { return std::ranges::binary_search(data_.ends, token); }

void bpe_tokenizer::check(token_id token) const {
  if (token < 0 || static_cast<std::size_t>(token) >= bytes_.size())
    throw error("tokenizer: token " + std::to_string(token) + " is outside a vocabulary of " +
                std::to_string(bytes_.size()));
}

} // namespace mk
