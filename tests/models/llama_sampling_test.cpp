#include "llama_file.hpp"
#include "llama_runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace mk::test {
namespace {

llama::capacity several_sequences(std::int64_t rows) {
  return {.tokens = rows,
          .sequences = 5,
          .outputs = rows,
          .blocks_per_sequence = 4,
          .blocks = 20,
          .block_tokens = 128,
          .weights = data_type::fp32};
}

// All true logits are negative: a column past the vocabulary, at 0, would be the greatest.
class Sampling : public testing::TestWithParam<std::int32_t> {
protected:
  std::int32_t const vocabulary_ = GetParam();

  /// 33 wide, so that large vocabularies stay small files. Token t is likeliest after every token.
  llama_file file(std::int32_t likeliest) const {
    constexpr std::uint32_t hidden = 33;
    auto const rows = static_cast<std::uint64_t>(vocabulary_);
    llama_file made;
    made.network(1, hidden, 1, 1, 8, 4, static_cast<std::uint32_t>(rows));
    made.tensor("token_embd.weight", {rows, hidden}, std::vector<float>(rows * hidden, 1.0f));
    made.tensor("blk.0.attn_output.weight", {hidden, 8}, std::vector<float>(hidden * 8, 0.0f));
    made.tensor("blk.0.ffn_down.weight", {hidden, 4}, std::vector<float>(hidden * 4, 0.0f));
    made.tensor("output_norm.weight", {hidden}, std::vector<float>(hidden, 1.0f));
    std::vector<float> output(rows * hidden, 0.0f);
    for (std::uint64_t t = 0; t < rows; ++t)
      output[t * hidden] = t == static_cast<std::uint64_t>(likeliest) ? -1.0f : -2.0f - static_cast<float>(t % 4);
    made.tensor("output.weight", {rows, hidden}, std::move(output));
    return made;
  }
};

TEST_P(Sampling, StaysInTheVocabulary) {
  auto const likeliest = vocabulary_ - 1;
  temporary_file const written("negative.gguf", file(likeliest).bytes());
  llama_runner r(written.path(), data_type::fp32);
  constexpr std::int64_t rows = 100;
  auto const p = r.add(several_sequences(rows));
  for (std::int64_t const sequences : {1, 5}) {
    for (float const temperature : {0.0f, 1.0f, 1e6f}) {
      llama::batch b(p.serves);
      std::vector<std::int32_t> const tokens(static_cast<std::size_t>(rows / sequences), 7);
      for (std::int64_t s = 0; s < sequences; ++s)
        b.add(s, tokens, 0, rows / sequences,
              {.temperature = temperature, .top_p = temperature == 1 ? 0.9f : 1.0f, .seed = static_cast<int>(s)});
      auto const result = r.run(p, b);
      auto const greatest = *std::max_element(result.logits.begin(), result.logits.end());
      EXPECT_NEAR(greatest, -1, 1e-5);
      for (auto const token : result.next) {
        EXPECT_GE(token, 0);
        EXPECT_LT(token, vocabulary_);
        if (temperature == 0) {
          EXPECT_EQ(token, likeliest);
        }
      }
    }
  }
}

// 1000 is not a multiple of any tile, and is where padding to one has gone wrong; the others are real vocabularies.
INSTANTIATE_TEST_SUITE_P(Vocabularies, Sampling, testing::Values(1000, 50257, 32003));

TEST(SamplingOf, TenThousandDrawsStayInTheVocabulary) {
  std::vector<std::int32_t> next(1000);
  for (std::size_t t = 0; t < next.size(); ++t) next[t] = static_cast<std::int32_t>((t * 7 + 3) % next.size());
  temporary_file const written("draws.gguf", rigged_llama(next, -5, -1).bytes());
  llama_runner r(written.path(), data_type::fp32);
  constexpr std::int64_t rows = 500;
  auto const p = r.add(several_sequences(rows));
  std::vector<int> drawn(next.size());
  for (int round = 0; round < 20; ++round) {
    llama::batch b(p.serves);
    for (std::int64_t s = 0; s < 5; ++s) {
      std::vector<std::int32_t> const tokens(rows / 5, static_cast<std::int32_t>(s));
      b.add(s, tokens, 0, rows / 5, {.temperature = 1, .top_p = 0.95f, .seed = round * 5 + static_cast<int>(s)});
    }
    for (auto const token : r.run(p, b).next) {
      ASSERT_GE(token, 0);
      ASSERT_LT(token, 1000);
      ++drawn[static_cast<std::size_t>(token)];
    }
  }
  EXPECT_GT(std::ranges::count_if(drawn, [](int times) { return times > 0; }), 900);
}

} // namespace
} // namespace mk::test
