#define PCRE2_CODE_UNIT_WIDTH 8

#include "models/text/pre_tokenizer.hpp"

#include <megakernels/ops/error.hpp>

#include "models/text/utf8.hpp"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <utility>

namespace mk {
namespace {

// The property White_Space is spelled out: PCRE2's \s also takes U+180E, which Unicode has removed from it.
#define MK_SPACE R"(\t-\r\x{85}\p{Z})"

constexpr char const* digits_alone = R"(\p{N})";

constexpr char const* gpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^)" MK_SPACE R"(\p{L}\p{N}]+|[)" MK_SPACE
                             R"(]+(?![^)" MK_SPACE R"(])|[)" MK_SPACE R"(]+)";

constexpr char const* llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^)" MK_SPACE
    R"(\p{L}\p{N}]+[\r\n]*|[)" MK_SPACE R"(]*[\r\n]+|[)" MK_SPACE R"(]+(?![^)" MK_SPACE R"(])|[)" MK_SPACE R"(]+)";

#undef MK_SPACE

struct rule {
  std::string_view name;
  std::array<char const*, 2> stages; // the second may be null
  bool ignores_merges;
};

constexpr std::array rules = {
    rule{"gpt-2", {gpt2, nullptr}, false},       rule{"default", {gpt2, nullptr}, false},
    rule{"smollm", {digits_alone, gpt2}, false}, rule{"llama-bpe", {llama3, nullptr}, true},
    rule{"llama3", {llama3, nullptr}, true},     rule{"llama-v3", {llama3, nullptr}, true},
};

rule const* find_rule(std::string_view name) noexcept {
  for (auto const& candidate : rules)
    if (candidate.name == name) return &candidate;
  return nullptr;
}

rule const& required_rule(std::string_view name) {
  if (auto const* const found = find_rule(name)) return *found;
  std::string known;
  for (auto const& candidate : rules) (known += known.empty() ? "" : ", ") += candidate.name;
  throw error("pre-tokenizer \"" + std::string(name) + "\" is not known; known are " + known);
}

std::string message_of(int code) {
  std::array<PCRE2_UCHAR8, 128> text{};
  pcre2_get_error_message_8(code, text.data(), text.size());
  return reinterpret_cast<char const*>(text.data());
}

pcre2_code_8* compile(std::string_view expression) {
  int code = 0;
  PCRE2_SIZE place = 0;
  auto* const compiled = pcre2_compile_8(reinterpret_cast<PCRE2_SPTR8>(expression.data()), expression.size(),
                                         PCRE2_UTF | PCRE2_UCP, &code, &place, nullptr);
  if (compiled == nullptr)
    throw error("pre-tokenizer: expression refused at " + std::to_string(place) + ": " + message_of(code));
  // Where the library has no compiler for this machine, it interprets.
  pcre2_jit_compile_8(compiled, PCRE2_JIT_COMPLETE);
  return compiled;
}

/// What one call of `split` needs to match.
class matcher {
public:
  explicit matcher(pcre2_code_8 const* code)
      : code_(code), data_(pcre2_match_data_create_from_pattern_8(code, nullptr)),
        context_(pcre2_match_context_create_8(nullptr)), stack_(pcre2_jit_stack_create_8(32 << 10, 16 << 20, nullptr)) {
    if (!data_ || !context_) throw std::bad_alloc();
    pcre2_set_match_limit_8(context_.get(), std::numeric_limits<std::uint32_t>::max());
    if (stack_) pcre2_jit_stack_assign_8(context_.get(), nullptr, stack_.get());
  }

  /// The first match at or behind `from`, an empty one at the end where there is none.
  std::string_view next(std::string_view text, std::size_t from) const {
    auto const found = pcre2_match_8(code_, reinterpret_cast<PCRE2_SPTR8>(text.data()), text.size(), from,
                                     PCRE2_NO_UTF_CHECK, data_.get(), context_.get());
    if (found == PCRE2_ERROR_NOMATCH) return text.substr(text.size());
    if (found < 0) throw error("pre-tokenizer: matching failed: " + message_of(found));
    auto const* const range = pcre2_get_ovector_pointer_8(data_.get());
    return text.substr(range[0], range[1] - range[0]);
  }

private:
  template <auto Release> struct releaser {
    void operator()(auto* object) const noexcept { Release(object); }
  };

  pcre2_code_8 const* code_;
  std::unique_ptr<pcre2_match_data_8, releaser<pcre2_match_data_free_8>> data_;
  std::unique_ptr<pcre2_match_context_8, releaser<pcre2_match_context_free_8>> context_;
  std::unique_ptr<pcre2_jit_stack_8, releaser<pcre2_jit_stack_free_8>> stack_;
};

/// `text` cut into runs of valid UTF-8 and single bytes that are not.
std::vector<std::string_view> valid_runs(std::string_view text) {
  std::vector<std::string_view> runs;
  while (!text.empty()) {
    auto const valid = valid_utf8_prefix(text);
    if (valid != 0) runs.push_back(text.substr(0, valid));
    if (valid != text.size()) runs.push_back(text.substr(valid, 1));
    text.remove_prefix(std::min(valid + 1, text.size()));
  }
  return runs;
}

bool is_invalid(std::string_view run) { return run.size() == 1 && static_cast<unsigned char>(run[0]) >= 0x80; }

/// Adds the matches within `text`, and what lies between them, to `pieces`.
void cut(matcher const& match, std::string_view text, std::vector<std::string_view>& pieces) {
  std::size_t done = 0;
  while (done < text.size()) {
    auto const found = match.next(text, done);
    auto const start = static_cast<std::size_t>(found.data() - text.data());
    if (start > done) pieces.push_back(text.substr(done, start - done));
    if (found.empty()) return;
    pieces.push_back(found);
    done = start + found.size();
  }
}

} // namespace

void pre_tokenizer::release::operator()(pcre2_real_code_8* code) const noexcept { pcre2_code_free_8(code); }

pre_tokenizer::pre_tokenizer(std::string_view name) {
  for (auto const* const expression : required_rule(name).stages)
    if (expression != nullptr) stages_.emplace_back(compile(expression));
}

std::vector<std::string_view> pre_tokenizer::split(std::string_view text) const {
  auto pieces = valid_runs(text);
  for (auto const& stage : stages_) {
    matcher const match(stage.get());
    std::vector<std::string_view> cut_pieces;
    for (auto const piece : pieces) {
      if (is_invalid(piece))
        cut_pieces.push_back(piece);
      else
        cut(match, piece, cut_pieces);
    }
    pieces = std::move(cut_pieces);
  }
  return pieces;
}

bool ignores_merges(std::string_view pre_tokenizer_name) noexcept {
  auto const* const found = find_rule(pre_tokenizer_name);
  return found != nullptr && found->ignores_merges;
}

} // namespace mk
