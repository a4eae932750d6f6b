#pragma once

/// Cutting text into the pieces within which BPE merges, as the regular expressions of known vocabularies say.

#include <memory>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;

namespace mk {

/// The rules that a vocabulary names in `tokenizer.ggml.pre`:
///   "gpt-2", "default"   GPT-2's expression
///   "smollm"             every digit alone, then GPT-2's expression within what lies between
///   "llama-bpe", "llama3", "llama-v3"   Llama 3's expression
/// "default" is what converters wrote before the key told vocabularies apart. Characters that Unicode assigned after
/// version 14 may fall into other classes than they do elsewhere, as the regular expression library has them.
class pre_tokenizer {
public:
  /// Throws `error` naming `name` and the known names where it is not one of them.
  explicit pre_tokenizer(std::string_view name);

  /// The pieces of `text`, in order; together they are all of it. Bytes that are not UTF-8 are each a piece, and end
  /// the text before them. May be called from several threads at a time.
  [[nodiscard]] std::vector<std::string_view> split(std::string_view text) const;

private:
  struct release {
    void operator()(pcre2_real_code_8* code) const noexcept;
  };
  using pattern = std::unique_ptr<pcre2_real_code_8, release>;

  std::vector<pattern> stages_; // each cuts the pieces that the one before left
};

/// Whether pieces that are tokens as they stand are taken whole, even where no merges lead to them.
[[nodiscard]] bool ignores_merges(std::string_view pre_tokenizer_name) noexcept;

} // namespace mk
