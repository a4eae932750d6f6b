#include <megakernels/ops/error.hpp>

#include "llama_file.hpp"
#include "llama_runner.hpp"
#include "models/text/tokenizer_data.hpp"

#include <gtest/gtest.h>

namespace mk::test {
namespace {

constexpr std::int32_t vocabulary = 20;

/// After each token the next one, after the last the first.
std::vector<std::int32_t> counting() {
  std::vector<std::int32_t> next(vocabulary);
  for (std::int32_t t = 0; t < vocabulary; ++t) next[static_cast<std::size_t>(t)] = (t + 1) % vocabulary;
  return next;
}

struct said {
  std::vector<std::int32_t> tokens;
  llama::answer_times times;
};

class LlamaAnswer : public testing::Test {
protected:
  temporary_file file_{"counting.gguf", rigged_llama(counting()).bytes()};
  llama_runner runner_{file_.path(), data_type::bf16};
  std::vector<llama::loaded_program> programs_{runner_.add(llama::single_sequence(1, 50)),
                                               runner_.add(llama::single_sequence(4, 50))};
  llama::generator generator_{runner_.session(), programs_, vocabulary};

  said ask(std::vector<std::int32_t> const& prompt, llama::answer_options const& options) {
    return ask(generator_, prompt, options);
  }

  static said ask(llama::generator& g, std::vector<std::int32_t> const& prompt, llama::answer_options const& options) {
    said result;
    result.times = llama::answer(g, prompt, options, [&](std::int32_t t) { result.tokens.push_back(t); });
    EXPECT_EQ(result.times.tokens, static_cast<std::int64_t>(result.tokens.size()));
    return result;
  }
};

using tokens = std::vector<std::int32_t>;

TEST_F(LlamaAnswer, GoesOnFromThePrompt) {
  auto const a = ask({3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}, {.max_tokens = 4});
  EXPECT_EQ(a.tokens, (tokens{6, 7, 8, 9}));
  EXPECT_EQ(a.times.why, llama::finish::length);
  EXPECT_EQ(a.times.prompt_tokens, 11);
  EXPECT_EQ(generator_.length(), 14);
  EXPECT_EQ(ask({10}, {.max_tokens = 2}).tokens, (tokens{11, 12}));
}

TEST_F(LlamaAnswer, EndsAtEachEndToken) {
  auto const ends = tokens{3, 7, 12};
  for (auto const end : ends) {
    auto const a = ask({end - 2}, {.max_tokens = 5, .end_tokens = ends});
    EXPECT_EQ(a.tokens, (tokens{end - 1}));
    EXPECT_EQ(a.times.why, llama::finish::end_token);
    EXPECT_TRUE(ask({end - 1}, {.max_tokens = 5, .end_tokens = ends}).tokens.empty());
  }
}

TEST_F(LlamaAnswer, EndsAtTheTokenLimit) {
  auto const none = ask({1}, {.max_tokens = 0});
  EXPECT_TRUE(none.tokens.empty());
  EXPECT_EQ(none.times.why, llama::finish::length);
  auto const one = ask({1}, {.max_tokens = 1});
  EXPECT_EQ(one.tokens, (tokens{2}));
  EXPECT_EQ(one.times.why, llama::finish::length);
  EXPECT_EQ(generator_.length(), 2);
}

TEST_F(LlamaAnswer, EndsWhereTheContextIsFull) {
  tokens const prompt(47, 1);
  auto const a = ask(prompt, {.max_tokens = 100});
  EXPECT_EQ(a.tokens, (tokens{2, 3, 4, 5})); // the last one is known, though it has no place
  EXPECT_EQ(a.times.why, llama::finish::context_full);
  EXPECT_EQ(generator_.length(), 50);
  EXPECT_THROW(ask({1}, {}), submit_error);
}

TEST_F(LlamaAnswer, MayFillTheContextWithThePrompt) {
  auto const a = ask(tokens(50, 1), {});
  EXPECT_EQ(a.tokens, (tokens{2}));
  EXPECT_EQ(a.times.why, llama::finish::context_full);
}

TEST_F(LlamaAnswer, RefusesPromptsWithoutTokensOrRoom) {
  auto const refusal = [&](tokens const& prompt) -> std::string {
    try {
      ask(prompt, {});
    } catch (submit_error const& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({}), "the prompt has no tokens");
  EXPECT_EQ(refusal(tokens(51, 1)), "the prompt has 51 tokens, the context has room for 50");
  EXPECT_EQ(generator_.length(), 0);
}

TEST_F(LlamaAnswer, EndsWhenInterrupted) {
  for (int const after : {0, 1, 2, 3, 4, 5}) { // asked before chunks 1 and 2 of the prompt, then before each token
    llama::generator g(runner_.session(), programs_, vocabulary);
    int asked = 0;
    auto const a = ask(g, tokens(10, 1), {.max_tokens = 9, .interrupted = [&] { return asked++ >= after; }});
    EXPECT_EQ(a.times.why, llama::finish::interrupted);
    EXPECT_EQ(a.times.prompt_tokens, after < 2 ? 4 * after : 10);
    EXPECT_EQ(a.tokens.size(), static_cast<std::size_t>(std::max(0, after - 2)));
  }
}

TEST(LlamaAnswerOf, LogitsWithoutNumbersEnds) {
  auto rigged = rigged_llama(counting());
  auto const nan = std::numeric_limits<float>::quiet_NaN();
  rigged.tensor("output_norm.weight", {vocabulary + 1}, std::vector<float>(vocabulary + 1, nan));
  temporary_file const file("nan.gguf", rigged.bytes());
  llama_runner r(file.path(), data_type::bf16);
  llama::generator g(r.session(), {r.add(llama::single_sequence(4, 50))}, vocabulary);
  std::vector<std::int32_t> const prompt{1};
  auto const times = llama::answer(g, prompt, {}, [](std::int32_t) { FAIL(); });
  EXPECT_EQ(times.why, llama::finish::no_number);
}

// The forms in which files give several: a list, keys of their own, and control tokens known by their text.
TEST(EndTokens, AreAllThatTheFileNames) {
  std::vector<std::string> const texts{"a", "b", "c", "d", "e", "<|eot_id|>", "f"};
  auto file = llama_file()
                  .text("tokenizer.ggml.model", "gpt2")
                  .texts("tokenizer.ggml.tokens", texts)
                  .texts("tokenizer.ggml.merges", {})
                  .integers("tokenizer.ggml.token_type", {1, 1, 3, 1, 1, 3, 1});
  auto const ends = [&] {
    temporary_file const written("ends.gguf", file.bytes());
    return read_tokenizer_data(gguf_file(written.path())).ends;
  };
  EXPECT_EQ(ends(), (std::vector<token_id>{5}));
  file.number("tokenizer.ggml.eos_token_id", 2u);
  EXPECT_EQ(ends(), (std::vector<token_id>{2, 5}));
  file.integers("tokenizer.ggml.eos_token_id", {6, 0});
  EXPECT_EQ(ends(), (std::vector<token_id>{0, 5, 6}));
  file.number("tokenizer.ggml.eot_token_id", 3u).number("tokenizer.ggml.eom_token_id", 4u);
  EXPECT_EQ(ends(), (std::vector<token_id>{0, 3, 4, 5, 6}));
}

} // namespace
} // namespace mk::test
