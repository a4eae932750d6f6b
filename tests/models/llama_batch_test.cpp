#include "golden_logits.hpp"
#include "llama_runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace mk::test {
namespace {

constexpr std::int64_t sequences = 6;

/// Room for all texts at once, and more than that.
llama::capacity several_sequences() {
  return {.tokens = 96,
          .sequences = 8,
          .outputs = 90,
          .blocks_per_sequence = 7,
          .blocks = 7 * sequences,
          .block_tokens = 8,
          .activations = data_type::fp32,
          .weights = data_type::fp32};
}

/// A text of each sequence, and its logits when no other sequence is there.
struct text_alone {
  std::vector<std::int32_t> tokens;
  std::vector<float> logits;
};

class LlamaBatch : public testing::Test {
protected:
  llama_runner runner_{golden_path("tiny_llama.gguf"), data_type::fp32};
  llama::loaded_program program_ = runner_.add(several_sequences(), 3);
  std::size_t vocabulary_ = static_cast<std::size_t>(runner_.config().vocabulary);
  std::vector<text_alone> texts_;

  void SetUp() override {
    auto const whole = read_golden_text("tiny_llama.json").tokens;
    for (std::size_t const length : {40, 1, 17, 33, 8, 25}) {
      text_alone text{.tokens = {whole.end() - static_cast<std::ptrdiff_t>(length), whole.end()}, .logits = {}};
      text.logits = runner_.feed(program_, 0, text.tokens, 5);
      texts_.push_back(std::move(text));
    }
    runner_.session().reset();
  }

  std::span<float const> expected(std::size_t text, std::size_t position) const {
    return std::span(texts_[text].logits).subspan(position * vocabulary_, vocabulary_);
  }
};

// Sequences in changing order, each with a part of a prompt, one token, or none at all; some are left out.
TEST_F(LlamaBatch, GivesEverySequenceTheBitsItHasAlone) {
  std::mt19937 random(42);
  for (int trial = 0; trial < 20; ++trial) {
    runner_.session().reset();
    std::vector<std::size_t> done(texts_.size());
    auto const unfinished = [&] {
      for (std::size_t i = 0; i < texts_.size(); ++i)
        if (done[i] < texts_[i].tokens.size()) return true;
      return false;
    };
    while (unfinished()) {
      std::vector<std::size_t> order(texts_.size());
      std::iota(order.begin(), order.end(), std::size_t(0));
      std::shuffle(order.begin(), order.end(), random);
      llama::batch b(program_.serves);
      std::vector<std::pair<std::size_t, std::size_t>> rows; // text and position
      for (auto const i : order) {
        if (random() % 4 == 0) continue;
        auto const left = texts_[i].tokens.size() - done[i];
        auto const count = std::min(left, random() % 2 == 0 ? random() % 2 : random() % 16);
        auto const outputs = random() % (count + 1);
        b.add(static_cast<std::int64_t>(i), std::span(texts_[i].tokens).subspan(done[i], count),
              static_cast<std::int64_t>(done[i]), static_cast<std::int64_t>(outputs));
        done[i] += count;
        for (auto position = done[i] - outputs; position < done[i]; ++position) rows.emplace_back(i, position);
      }
      auto const result = runner_.run(program_, b);
      ASSERT_EQ(result.next.size(), rows.size());
      for (std::size_t r = 0; r < rows.size(); ++r)
        ASSERT_TRUE(same_bits(result.row(r), expected(rows[r].first, rows[r].second)))
            << "trial " << trial << ", text " << rows[r].first << ", position " << rows[r].second;
    }
  }
}

// Rows and sequences that stand for nothing: sequence -1, length 0.
TEST_F(LlamaBatch, IsNotTouchedByPadding) {
  for (std::size_t const position : {std::size_t(0), std::size_t(16)}) {
    auto const past = static_cast<std::int64_t>(position);
    auto const before = std::span(texts_[0].tokens).first(position);
    if (position > 0) runner_.feed(program_, 2, before, position);
    llama::batch b(program_.serves);
    b.add(1, {}, 0, 0);
    b.add(2, std::span(texts_[0].tokens).subspan(position, 1), past, 1);
    b.add(3, {}, 0, 0);
    auto s = b.to_step();
    auto const token = texts_[0].tokens[position];
    auto const at = static_cast<std::int32_t>(position);
    s.live("tokens", 4).values("token", {0, token, 7, 0}).values("position", {0, at, 500, -1});
    s.values("sequence", {-1, 1, -1, -1}).values("output_row", {1});
    auto const result = runner_.run(program_, s, 1);
    EXPECT_TRUE(same_bits(result.row(0), expected(0, position)));

    s.live("outputs", 3).values("output_row", {0, 1, 2}).values("temperature", {0.0f, 0.0f, 0.0f});
    s.values("top_k", {0, 0, 0}).values("top_p", {1.0f, 1.0f, 1.0f}).values("seed", {0, 0, 0});
    s.values("counter", {0, 0, 0});
    auto const padded = runner_.run(program_, s, 3);
    EXPECT_TRUE(same_bits(padded.row(1), expected(0, position)));
    EXPECT_TRUE(std::all_of(padded.logits.begin(), padded.logits.end(), [](float v) { return std::isfinite(v); }));
  }
}

TEST_F(LlamaBatch, MayBeEmpty) {
  llama::batch const b(program_.serves);
  EXPECT_TRUE(runner_.run(program_, b).logits.empty());
}

TEST_F(LlamaBatch, WritesNoMoreThanItsLiveRows) {
  llama::batch b(program_.serves);
  b.add(0, std::span(texts_[0].tokens).first(3), 0, 2);
  b.add(1, {}, 0, 0);
  tensor logits(data_type::fp32, {90, static_cast<std::int64_t>(vocabulary_)});
  tensor next(data_type::int32, {90});
  std::ranges::fill(logits.span<float>(), 1234.5f);
  std::ranges::fill(next.span<std::int32_t>(), -77);
  auto logits_view = logits.view();
  auto next_view = next.view();
  logits_view.extents[0] = next_view.extents[0] = 2;
  auto s = b.to_step();
  runner_.session().submit(program_.id, s.bind("logits", logits_view).bind("next_token", next_view)).wait();
  auto const numbers = logits.span<float>();
  EXPECT_TRUE(same_bits(numbers.first(vocabulary_), expected(0, 1)));
  EXPECT_TRUE(same_bits(numbers.subspan(vocabulary_, vocabulary_), expected(0, 2)));
  EXPECT_EQ(std::ranges::count(numbers, 1234.5f), static_cast<std::ptrdiff_t>(88 * vocabulary_));
  EXPECT_EQ(std::ranges::count(next.span<std::int32_t>(), -77), 88);
}

TEST_F(LlamaBatch, RefusesWhatTheProgramHasNoRoomFor) {
  std::vector<std::int32_t> const tokens(97, 1);
  auto const refusal = [&](auto const& add) -> std::string {
    llama::batch b(program_.serves);
    try {
      add(b);
    } catch (submit_error const& e) {
      return e.what();
    }
    return "";
  };
  using batch = llama::batch;
  EXPECT_EQ(refusal([&](batch& b) { b.add(0, tokens, 0, 1); }),
            "batch: with sequence 0 there are 97 tokens, the program's capacity is 96");
  EXPECT_EQ(refusal([&](batch& b) { b.add(5, std::span(tokens).first(7), 50, 1); }),
            "batch: with sequence 5 there are 57 positions, the program's capacity is 56");
  EXPECT_EQ(refusal([&](batch& b) { b.add(6, std::span(tokens).first(1), 0, 1); }),
            "batch: with sequence 6 there are 49 cache blocks, the program's capacity is 42");
  EXPECT_EQ(refusal([&](batch& b) {
              for (int i = 0; i < 9; ++i) b.add(0, {}, 0, 0);
            }),
            "batch: with sequence 0 there are 9 sequences, the program's capacity is 8");
  EXPECT_EQ(refusal([&](batch& b) {
              b.add(0, std::span(tokens).first(50), 0, 50);
              b.add(1, std::span(tokens).first(46), 0, 46);
            }),
            "batch: with sequence 1 there are 96 rows with logits, the program's capacity is 90");
}

} // namespace
} // namespace mk::test
