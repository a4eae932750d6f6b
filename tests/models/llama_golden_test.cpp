#include "golden_logits.hpp"
#include "llama_runner.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

namespace mk::test {
namespace {

constexpr std::size_t prompt_tokens = 23; // the rest of a text is decoded token by token

llama::capacity one_sequence(std::int64_t tokens = 40) {
  return {.tokens = tokens,
          .sequences = 1,
          .outputs = tokens,
          .blocks_per_sequence = 3,
          .blocks = 3,
          .block_tokens = 16,
          .activations = data_type::fp32,
          .weights = data_type::fp32};
}

class TinyLlama : public testing::TestWithParam<char const*> {
protected:
  golden_text text_ = read_golden_text(std::string(GetParam()) + ".json");

  llama_runner runner() const { return {golden_path(std::string(GetParam()) + ".gguf"), data_type::fp32}; }

  /// The logits of the text: the prompt `chunk` tokens at a time, the rest one by one.
  std::vector<float> logits(llama_runner& r, llama::loaded_program const& p, std::size_t chunk,
                            std::int64_t sequence = 0) const {
    std::span const tokens(text_.tokens);
    auto all = r.feed(p, sequence, tokens.first(prompt_tokens), chunk);
    auto const rest = r.feed(p, sequence, tokens.subspan(prompt_tokens), 1, prompt_tokens);
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }

  std::vector<float> logits_alone(llama::capacity const& serves, std::int64_t workers, std::size_t chunk) const {
    auto r = runner();
    return logits(r, r.add(serves, workers), chunk);
  }
};

double root_mean_square(std::span<float const> values) {
  double sum = 0;
  for (double const v : values) sum += v * v;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// Relative to the scale of all logits, their root mean square: a single logit may be as near to 0 as it likes.
TEST_P(TinyLlama, GivesTheLogitsOfTransformers) {
  auto const scale = root_mean_square(text_.logits);
  auto r = runner();
  auto const p = r.add(one_sequence());
  for (std::size_t const chunk : {std::size_t(1), std::size_t(2), std::size_t(7), prompt_tokens}) {
    auto const found = logits(r, p, chunk);
    ASSERT_EQ(found.size(), text_.logits.size());
    double worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
      worst = std::max(worst, std::abs(double(found[i]) - double(text_.logits[i])));
    EXPECT_LE(worst, 1e-4 * scale) << "chunks of " << chunk;
    std::cout << GetParam() << ", chunks of " << chunk << ": largest error " << worst << ", " << worst / scale
              << " of the logits' root mean square, " << scale << "\n";
  }
  EXPECT_TRUE(same_bits(r.feed(p, 0, text_.tokens, text_.tokens.size()), logits(r, p, 1))) << "all at once";
}

TEST_P(TinyLlama, GivesTheSameBitsInChunksOfAnySize) {
  auto r = runner();
  auto const p = r.add(one_sequence());
  auto const expected = logits(r, p, 1);
  for (std::size_t chunk = 2; chunk <= prompt_tokens; ++chunk)
    EXPECT_TRUE(same_bits(logits(r, p, chunk), expected)) << "chunks of " << chunk;
}

TEST_P(TinyLlama, GivesTheSameBitsForAnyNumberOfWorkers) {
  auto const expected = logits_alone(one_sequence(), 1, 7);
  for (std::int64_t const workers : {2, 3, 7, 64})
    EXPECT_TRUE(same_bits(logits_alone(one_sequence(), workers, 7), expected)) << workers << " workers";
}

// What a program is made for decides about its tiles and its cache, and about no bit of the results.
TEST_P(TinyLlama, GivesTheSameBitsForAnyCapacity) {
  auto const expected = logits_alone(one_sequence(), 2, 7);
  for (std::int64_t const tokens : {7, 8, 64, 257, 1024})
    EXPECT_TRUE(same_bits(logits_alone(one_sequence(tokens), 3, 7), expected)) << tokens << " tokens";
  for (std::int64_t const block_tokens : {1, 2, 3, 40, 64, 512}) {
    auto serves = one_sequence();
    serves.block_tokens = block_tokens;
    serves.blocks = serves.blocks_per_sequence = (40 + block_tokens - 1) / block_tokens + 5;
    EXPECT_TRUE(same_bits(logits_alone(serves, 2, 7), expected)) << "blocks of " << block_tokens;
  }
  auto serves = one_sequence();
  serves.sequences = 33;
  serves.blocks = 200;
  EXPECT_TRUE(same_bits(logits_alone(serves, 2, 7), expected)) << "33 sequences";
}

TEST_P(TinyLlama, SharesItsCacheBetweenProgramsOfOneSession) {
  auto r = runner();
  auto const expected = logits(r, r.add(one_sequence()), 7);
  auto const large = r.add(one_sequence(23), 3);
  auto const small = r.add(one_sequence(1), 1);
  r.session().reset();
  std::span const tokens(text_.tokens);
  auto found = r.feed(large, 0, tokens.first(prompt_tokens), prompt_tokens);
  auto const rest = r.feed(small, 0, tokens.subspan(prompt_tokens), 1, prompt_tokens);
  found.insert(found.end(), rest.begin(), rest.end());
  EXPECT_TRUE(same_bits(found, expected));
}

// Lengths just at, below and over the ends of cache blocks; the text goes on in a circle.
TEST_P(TinyLlama, DecodesAtEveryLength) {
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < 258; ++i) tokens.push_back(text_.tokens[i % text_.tokens.size()]);
  auto serves = one_sequence(258);
  serves.blocks = serves.blocks_per_sequence = 17;
  auto r = runner();
  auto const p = r.add(serves);
  auto const vocabulary = static_cast<std::size_t>(r.config().vocabulary);
  auto const expected = r.feed(p, 0, tokens, tokens.size());
  for (std::size_t const length : {15, 16, 17, 18, 32, 33, 64, 257}) {
    r.session().reset();
    auto const before = std::span(tokens).first(length);
    r.feed(p, 0, before, length);
    auto const next = r.feed(p, 0, std::span(tokens).subspan(length, 1), 1, static_cast<std::int64_t>(length));
    auto const row = std::span(expected).subspan(length * vocabulary, vocabulary);
    EXPECT_TRUE(same_bits(next, row)) << "length " << length;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, TinyLlama, testing::Values("tiny_llama", "tiny_llama_tied"),
                         [](auto const& suite) { return std::string(suite.param); });

} // namespace
} // namespace mk::test
