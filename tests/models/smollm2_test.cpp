#include "golden_logits.hpp"
#include "llama_runner.hpp"
#include "model_path.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

namespace mk::test {
namespace {

llama::capacity one_sequence(std::int64_t tokens, data_type activations) {
  auto serves = llama::single_sequence(tokens, 256);
  serves.outputs = tokens;
  serves.activations = activations;
  return serves;
}

struct error_measure {
  double largest = 0;
  double sum_of_squares = 0;
  std::int64_t count = 0;

  void add(double error) {
    largest = std::max(largest, std::abs(error));
    sum_of_squares += error * error;
    ++count;
  }
  void add(error_measure const& other) {
    largest = std::max(largest, other.largest);
    sum_of_squares += other.sum_of_squares;
    count += other.count;
  }
  [[nodiscard]] double rms() const { return count == 0 ? 0 : std::sqrt(sum_of_squares / static_cast<double>(count)); }
};

std::ostream& operator<<(std::ostream& out, error_measure const& e) {
  return out << "largest " << e.largest << ", rms " << e.rms();
}

/// A position where another token is the most likely one than in the reference.
struct changed_choice {
  std::string place;
  double reference_gap; ///< between the two greatest logits
};

struct comparison {
  error_measure all, first_half, second_half; ///< halves of each prompt
  std::int64_t positions = 0;
  std::vector<changed_choice> changes;
};

error_measure error_of(std::span<float const> logits, nlohmann::json const& ids, nlohmann::json const& expected) {
  error_measure e;
  for (std::size_t i = 0; i < ids.size(); ++i)
    e.add(double(logits[ids[i].get<std::size_t>()]) - expected[i].get<double>());
  return e;
}

/// Feeds each prompt of the reference as it stands and compares the 64 greatest and the 64 fixed logits a position.
comparison teacher_forced(llama_runner& r, data_type activations, nlohmann::json const& golden) {
  auto const p = r.add(one_sequence(64, activations));
  auto const vocabulary = static_cast<std::size_t>(r.config().vocabulary);
  comparison result;
  for (auto const& prompt : golden.at("prompts")) {
    auto const logits = r.feed(p, 0, prompt.at("tokens").get<std::vector<std::int32_t>>(), 64);
    auto const& positions = prompt.at("positions");
    for (std::size_t i = 0; i < positions.size(); ++i) {
      auto const& expected = positions[i];
      auto const row = std::span(logits).subspan(i * vocabulary, vocabulary);
      auto e = error_of(row, expected.at("top_ids"), expected.at("top_logits"));
      e.add(error_of(row, golden.at("fixed_ids"), expected.at("fixed_logits")));
      result.all.add(e);
      (i < positions.size() / 2 ? result.first_half : result.second_half).add(e);
      ++result.positions;
      if (std::max_element(row.begin(), row.end()) - row.begin() != expected.at("top_ids")[0])
        result.changes.push_back(
            {prompt.at("name").get<std::string>() + " " + std::to_string(i),
             expected.at("top_logits")[0].get<double>() - expected.at("top_logits")[1].get<double>()});
    }
  }
  return result;
}

void print(char const* name, comparison const& c) {
  std::cout << name << ": error of logits: " << c.all << "; first halves: " << c.first_half
            << "; second halves: " << c.second_half << "; another choice at " << c.changes.size() << " of "
            << c.positions << " positions\n";
  for (auto const& change : c.changes)
    std::cout << "  another choice at " << change.place << ", reference gap " << change.reference_gap << "\n";
}

void expect_within(comparison const& c, double largest, double rms) {
  EXPECT_EQ(c.positions, 353);
  EXPECT_LE(c.all.largest, largest);
  EXPECT_LE(c.all.rms(), rms);
  EXPECT_LE(c.second_half.rms(), 1.25 * c.first_half.rms()) << "the error grows with the position";
  for (auto const& change : c.changes)
    EXPECT_LT(change.reference_gap, 2 * c.all.largest) << "another choice at " << change.place;
}

/// Continues each greedy prompt of the reference until another choice is made, which is right only where the two best
/// logits of the reference are nearer than twice the error.
void expect_greedy(llama_runner& r, data_type activations, nlohmann::json const& golden, double largest_error) {
  std::vector programs{r.add(one_sequence(1, activations)), r.add(one_sequence(64, activations))};
  for (auto const& text : golden.at("greedy")) {
    llama::generator g(r.session(), programs, r.config().vocabulary);
    auto const expected = text.at("new_tokens").get<std::vector<std::int32_t>>();
    auto next = g.feed(text.at("tokens").get<std::vector<std::int32_t>>(), {});
    std::size_t same = 0;
    while (next == expected[same] && ++same < expected.size()) next = g.feed(std::span(&next, 1), {});
    std::cout << "greedy '" << text.at("name").get<std::string>() << "': " << same << " of " << expected.size()
              << " tokens as the reference\n";
    if (same < expected.size()) {
      EXPECT_LT(text.at("gaps")[same].get<double>(), 2 * largest_error) << text.at("name") << ", token " << same;
    }
  }
}

TEST(SmolLm2Logits, IsNearTransformersWithFp32Activations) {
  MK_REQUIRE_MODEL();
  auto const golden = read_golden("smollm2.json");
  llama_runner r(model_path(), data_type::bf16);
  auto const c = teacher_forced(r, data_type::fp32, golden);
  print("fp32 activations", c);
  expect_within(c, 3e-4, 3e-5);
  EXPECT_TRUE(c.changes.empty());
  expect_greedy(r, data_type::fp32, golden, 3e-4);
}

// transformers' own error in bf16, of all logits and not these 128 a position, is the measure.
TEST(SmolLm2Logits, IsAsNearWithBf16ActivationsAsTransformersIs) {
  MK_REQUIRE_MODEL();
  auto const golden = read_golden("smollm2.json");
  auto const& theirs = golden.at("bf16_reference");
  llama_runner r(model_path(), data_type::bf16);
  auto const c = teacher_forced(r, data_type::bf16, golden);
  print("bf16 activations", c);
  expect_within(c, theirs.at("max_error"), theirs.at("rms_error"));
  EXPECT_GE(1 - static_cast<double>(c.changes.size()) / static_cast<double>(c.positions),
            theirs.at("argmax_agreement").get<double>());
  expect_greedy(r, data_type::bf16, golden, c.all.largest);
}

} // namespace
} // namespace mk::test
