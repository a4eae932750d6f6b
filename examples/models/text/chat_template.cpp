#include "models/text/chat_template.hpp"

#include <megakernels/ops/error.hpp>

#include <algorithm>
#include <utility>

namespace mk {
namespace {

constexpr std::string_view im_start = "<|im_start|>";
constexpr std::string_view im_end = "<|im_end|>";
constexpr std::string_view header_start = "<|start_header_id|>";
constexpr std::string_view header_end = "<|end_header_id|>";
constexpr std::string_view turn_end = "<|eot_id|>";

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The meaning of the inside of a string literal of Jinja.
std::string unescaped(std::string_view literal) {
  std::string text;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      text += literal[i];
      continue;
    }
    char const next = literal[++i];
    text += next == 'n' ? '\n' : next == 't' ? '\t' : next;
  }
  return text;
}

/// The system message that a ChatML template spells out: the text between a header and an end marker that stand in one
/// string literal, or in the text outside of all. Where an expression comes between them, the message is not a default.
std::string default_system_of(std::string_view chatml) {
  for (std::string_view const header : {"<|im_start|>system\n", "<|im_start|>system\\n"}) {
    for (auto at = chatml.find(header); at != std::string_view::npos; at = chatml.find(header, at + 1)) {
      auto const start = at + header.size();
      auto const end = chatml.find(im_end, start);
      if (end == std::string_view::npos) return "";
      auto const message = chatml.substr(start, end - start);
      char const quote = at == 0 ? '\0' : chatml[at - 1];
      auto const in_literal = quote == '\'' || quote == '"';
      auto const ends_literal = [&](std::size_t i) {
        return message[i] == quote && (i == 0 || message[i - 1] != '\\');
      };
      auto is_plain = !holds(message, "{{") && !holds(message, "{%");
      for (std::size_t i = 0; in_literal && i < message.size(); ++i) is_plain = is_plain && !ends_literal(i);
      if (is_plain) return in_literal ? unescaped(message) : std::string(message);
    }
  }
  return "";
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  auto const first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Collects pieces, plain text that follows plain text in one.
struct prompt {
  void marker(std::string_view text) { pieces.push_back({std::string(text), true}); }
  void plain(std::string_view text) {
    if (text.empty()) return;
    if (pieces.empty() || pieces.back().is_marker) pieces.push_back({"", false});
    pieces.back().text += text;
  }
  std::vector<prompt_piece> pieces;
};

void chatml_header(prompt& to, std::string_view role) {
  to.marker(im_start);
  to.plain(role);
  to.plain("\n");
}

void chatml_message(prompt& to, std::string_view role, std::string_view content) {
  chatml_header(to, role);
  to.plain(content);
  to.marker(im_end);
  to.plain("\n");
}

void llama3_header(prompt& to, std::string_view role) {
  to.marker(header_start);
  to.plain(role);
  to.marker(header_end);
  to.plain("\n\n");
}

void llama3_message(prompt& to, std::string_view role, std::string_view content) {
  llama3_header(to, role);
  to.plain(trimmed(content));
  to.marker(turn_end);
}

token_id required_special(tokenizer_data const& data, std::string_view text) {
  auto const token = data.special(text);
  if (!token)
    throw file_error(data.source + ": the chat template needs the token " + std::string(text) +
                     ", which the vocabulary lacks");
  return *token;
}

} // namespace

chat_template::chat_template(std::string_view text, std::string_view source) {
  if (holds(text, im_start) && holds(text, im_end)) {
    form_ = form::chatml;
    default_system_ = default_system_of(text);
  } else if (holds(text, header_start) && holds(text, header_end) && holds(text, turn_end)) {
    form_ = form::llama3;
  } else {
    throw file_error(std::string(source) + ": tokenizer.chat_template " +
                     (text.empty() ? "is missing" : "is neither ChatML nor Llama 3's") +
                     "; use --raw to give the model text without a template");
  }
}

std::vector<prompt_piece> chat_template::render(std::span<chat_message const> messages) const {
  prompt result;
  if (form_ == form::llama3) {
    for (auto const& message : messages) llama3_message(result, message.role, message.content);
    llama3_header(result, "assistant");
    return std::move(result.pieces);
  }
  auto const has_system = messages.empty() || messages.front().role == "system";
  if (!has_system && !default_system_.empty()) chatml_message(result, "system", default_system_);
  for (auto const& message : messages) chatml_message(result, message.role, message.content);
  chatml_header(result, "assistant");
  return std::move(result.pieces);
}

std::vector<token_id> chat_template::encode(std::span<chat_message const> messages,
                                            bpe_tokenizer const& tokenizer) const {
  auto const& data = tokenizer.data();
  std::vector<token_id> tokens;
  if (data.add_begin && data.begin) tokens.push_back(*data.begin);
  for (auto const& piece : render(messages)) {
    if (piece.is_marker) {
      tokens.push_back(required_special(data, piece.text));
    } else {
      auto const plain = tokenizer.encode(piece.text, {.add_begin = false, .parse_special = false});
      tokens.insert(tokens.end(), plain.begin(), plain.end());
    }
  }
  return tokens;
}

std::string_view chat_template::end_marker() const noexcept { return form_ == form::chatml ? im_end : turn_end; }

std::vector<token_id> chat_template::end_tokens(tokenizer_data const& data) const {
  auto ends = data.ends;
  ends.push_back(required_special(data, end_marker()));
  std::ranges::sort(ends);
  ends.erase(std::ranges::unique(ends).begin(), ends.end());
  return ends;
}

} // namespace mk
