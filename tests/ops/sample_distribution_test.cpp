#include <megakernels/ops/sample/distribution.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace mk::sampling {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
using tokens = std::vector<std::int32_t>;

kept kept_of(std::vector<float> const& logits, rule const& r, double share = 1) {
  return kept_set(logits, extremes_of(logits), r, share);
}

std::vector<float> logits_of(std::vector<double> const& weights) {
  std::vector<float> result;
  for (double w : weights) result.push_back(static_cast<float>(std::log(w)));
  return result;
}

/// The same by sorting everything.
tokens plain_kept(std::vector<float> const& logits, rule const& r) {
  tokens order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  auto const logit = [&](std::int32_t i) { return logits[static_cast<std::size_t>(i)]; };
  std::erase_if(order, [&](std::int32_t i) { return logit(i) == -infinity; });
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return logit(a) > logit(b); });
  if (r.top_k > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(r.top_k)));
  double total = 0, sum = 0;
  auto const weight = [&](std::int32_t i) {
    return std::exp((static_cast<double>(logit(i)) - logit(order[0])) / r.temperature);
  };
  for (auto i : order) total += weight(i);
  if (r.top_p >= 1) return order;
  std::size_t count = 0;
  while (count < order.size() && (count == 0 || sum < r.top_p * total)) sum += weight(order[count++]);
  order.resize(count);
  return order;
}

TEST(kept_set, top_p_keeps_the_fewest_that_reach_it) {
  std::vector<float> logits(500, -infinity);
  std::int32_t const places[] = {77, 499, 3, 250, 100};
  double const weights[] = {.5, .25, .149, .06, .041};
  for (int i = 0; i < 5; ++i) logits[static_cast<std::size_t>(places[i])] = static_cast<float>(std::log(weights[i]));
  auto const four = kept_of(logits, {.top_p = static_cast<double>(0.9f)});
  EXPECT_EQ(four.tokens, (tokens{77, 499, 3, 250}));
  double const shares[] = {.52138, .26069, .15537, .06257};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR((four.cumulative[i] - (i > 0 ? four.cumulative[i - 1] : 0)) / four.total, shares[i], 1e-5);

  EXPECT_EQ(kept_of(logits, {.top_p = 0}).tokens, tokens{77});
  EXPECT_EQ(kept_of(logits, {.top_p = 1e-9}).tokens, tokens{77});
  for (double all : {1.0, 1.5, static_cast<double>(infinity)})
    EXPECT_EQ(kept_of(logits, {.top_p = all}).tokens, (tokens{77, 499, 3, 250, 100}));
  // top-k first: of .5 .25 .149 the first two have .834.
  EXPECT_EQ(kept_of(logits, {.top_k = 3, .top_p = 0.83}).tokens, (tokens{77, 499}));
  EXPECT_EQ(kept_of(logits, {.top_k = 3, .top_p = 0.84}).tokens, (tokens{77, 499, 3}));
}

TEST(kept_set, ties_go_to_the_lowest_index) {
  EXPECT_EQ(kept_of(logits_of({.4, .3, .3, 0}), {.top_k = 2}).tokens, (tokens{0, 1}));
  EXPECT_EQ(kept_of(logits_of({.25, .25, .25, .25}), {.top_p = .5}).tokens, (tokens{0, 1}));
  std::vector<float> const equal(1000, -2.5f);
  EXPECT_EQ(kept_of(equal, {.top_k = 7}).tokens, (tokens{0, 1, 2, 3, 4, 5, 6}));
  std::vector<float> const many(100000, 1.0f);
  EXPECT_EQ(kept_of(many, {.top_k = 3}).tokens, (tokens{0, 1, 2}));
  EXPECT_EQ(kept_of(many, {}).tokens.size(), many.size());
  EXPECT_EQ(kept_of({-0.0f, 0.0f, -1.0f, 0.0f, -0.0f}, {.top_k = 3}).tokens, (tokens{0, 1, 3}));
  EXPECT_EQ(kept_of({-1.0f, 0.0f, -0.0f, -3.0f}, {.top_k = 3}).tokens, (tokens{1, 2, 0}));
}

TEST(kept_set, like_sorting_everything) {
  std::mt19937 bits(3);
  for (std::size_t vocabulary : {1u, 2u, 100u, 1024u, 20000u}) {
    for (int turn = 0; turn < 6; ++turn) {
      std::vector<float> logits(vocabulary);
      for (auto& value : logits) {
        double sum = -6;
        for (int i = 0; i < 12; ++i) sum += static_cast<double>(bits()) / 4294967296.0;
        value = static_cast<float>(turn % 2 == 0 ? 3 * sum : std::round(2 * sum)); // odd turns: many ties
        if (turn >= 4 && bits() % 3 == 0) value = -infinity;
      }
      if (extremes_of(logits).first_largest < 0) continue;
      for (double temperature : {0.1, 1.0, static_cast<double>(infinity)})
        for (int k : {0, 1, 50, 3000})
          for (double p : {0.3, 0.95, 1.0}) {
            rule const r{temperature, k, p};
            EXPECT_EQ(kept_of(logits, r).tokens, plain_kept(logits, r))
                << vocabulary << " " << turn << " " << temperature << " " << k << " " << p;
          }
    }
  }
}

TEST(kept_set, a_shortened_list_gives_the_same_draws) {
  std::mt19937 bits(5);
  std::vector<float> logits(20000);
  for (auto& value : logits) value = static_cast<float>(bits() % 100000) / 10000;
  auto const all = kept_of(logits, {});
  for (int i = 0; i < 200; ++i) {
    double const u = static_cast<double>(bits()) / 4294967296.0;
    EXPECT_EQ(pick(kept_of(logits, {}, u), u), pick(all, u));
  }
}

TEST(pick, both_ends_of_the_unit_interval_stay_inside) {
  double const largest = std::nextafter(1.0, 0.0);
  auto const three = kept_of(logits_of({.2, .5, .3, 0}), {});
  EXPECT_EQ(three.tokens, (tokens{1, 2, 0}));
  EXPECT_EQ(pick(three, 0), 1);
  EXPECT_EQ(pick(three, 0.499), 1);
  EXPECT_EQ(pick(three, 0.501), 2);
  EXPECT_EQ(pick(three, 0.799), 2);
  EXPECT_EQ(pick(three, largest), 0);
  EXPECT_EQ(pick({{4, 9}, {1, 2}, 2}, 0.5), 9); // shares are half open
  // Tokens so unlikely that their weight is 0 are not drawn by rounding.
  auto const cold = kept_of({0, -1, -2000, -3000}, {.temperature = 1});
  EXPECT_EQ(cold.tokens.size(), 4u);
  EXPECT_EQ(pick(cold, largest), 1);
  // A total that rounding has made larger than the sum of what is listed.
  EXPECT_EQ(pick({{5, 8, 2}, {1, 1.5, 1.5}, 1.6}, largest), 8);
  std::vector<float> many(100000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i % 1000) * 1e-3f;
  for (double p : {0.5, 0.9, 1.0}) {
    auto const set = kept_of(many, {.top_p = p});
    EXPECT_EQ(pick(set, 0), set.tokens.front());
    EXPECT_EQ(pick(set, largest), set.tokens.back());
  }
}

} // namespace
} // namespace mk::sampling
