#include <megakernels/ops/sample/random.hpp>
#include <megakernels/ops/sample/sample.hpp>

#include "kit.hpp"

#include <limits>
#include <set>

namespace mk {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Rows of logits with equal rules; set single rows' afterwards.
struct batch {
  kit::tensor logits, temperature, top_k, top_p, seed, counter;

  explicit batch(kit::tensor const& l, double t = 1, int k = 0, double p = 1)
      : logits(l), temperature(kit::constant(data_type::fp32, {l.extent(0)}, t)),
        top_k(kit::constant(data_type::int32, {l.extent(0)}, k)),
        top_p(kit::constant(data_type::fp32, {l.extent(0)}, p)),
        seed(kit::constant(data_type::int32, {l.extent(0)}, 1)), counter(kit::blank(data_type::int32, {l.extent(0)})) {
    for (std::int64_t i = 0; i < l.extent(0); ++i) counter.set(static_cast<double>(i), i);
  }
  std::vector<std::pair<int, kit::tensor>> operands() const {
    return {{sample::logits, logits}, {sample::temperature, temperature},
            {sample::top_k, top_k},   {sample::top_p, top_p},
            {sample::seed, seed},     {sample::counter, counter}};
  }
  kit::node<sample> make() const { return {{}, operands()}; }
  std::vector<double> tokens() const {
    auto n = make();
    n.run();
    return n[sample::token].numbers();
  }
};

kit::tensor normal(data_type type, std::vector<std::int64_t> const& shape, std::uint64_t seed, double scale) {
  kit::random r(seed);
  return kit::generate(type, shape, [&] {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += r.uniform();
    return static_cast<float>(scale * sum / 2);
  });
}

TEST(sample, philox_known_answers) {
  using words = std::array<std::uint32_t, 4>;
  constexpr auto ones = 0xFFFFFFFFu;
  EXPECT_EQ(sampling::philox4x32({0, 0, 0, 0}, {0, 0}), (words{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  EXPECT_EQ(sampling::philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (words{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(sampling::philox4x32({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
            (words{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
  EXPECT_EQ(sampling::uniform(0, 0), static_cast<double>((0x6627E8D5ull >> 5 << 26) | (0xE169C58Du >> 6)) / 0x1p53);
  EXPECT_LT((0x1p53 - 1) / 0x1p53, 1); // the largest of its values
}

TEST(sample, arg_max) {
  for (auto type : kit::floating_types)
    for (std::int64_t vocabulary : {1, 31, 32, 33, 1000, 32003}) {
      auto const logits = kit::integers(type, {3, vocabulary}, -40, -1, 5);
      auto const tokens = batch(logits, 0).tokens();
      for (int row = 0; row < 3; ++row) {
        std::int64_t best = 0;
        for (std::int64_t i = 1; i < vocabulary; ++i)
          if (logits.get(row, i) > logits.get(row, best)) best = i;
        EXPECT_EQ(tokens[static_cast<std::size_t>(row)], static_cast<double>(best));
      }
    }
  auto const zeros = kit::values(data_type::fp32, {2, 3}, {-1, -0.0, 0.0, 0.0, -0.0, -1});
  EXPECT_EQ(batch(zeros, 0).tokens(), (std::vector{1.0, 0.0}));
  EXPECT_EQ(batch(zeros, -0.0).tokens(), (std::vector{1.0, 0.0}));
  EXPECT_EQ(batch(zeros, 1, 1).tokens(), (std::vector{1.0, 0.0}));
  EXPECT_EQ(batch(zeros, 1, 0, 0).tokens(), (std::vector{1.0, 0.0}));
  EXPECT_EQ(batch(zeros, 1, 0, -2).tokens(), (std::vector{1.0, 0.0}));
}

TEST(sample, negative_logits_only) {
  for (std::int64_t vocabulary : {1000, 50257, 32003})
    for (double temperature : {0.0, 1.0}) {
      kit::random r(static_cast<std::uint64_t>(vocabulary));
      auto const logits =
          kit::generate(data_type::fp32, {5, vocabulary}, [&] { return static_cast<float>(-3 + 2 * r.uniform()); });
      for (double p : {0.9, 1.0})
        for (double token : batch(logits, temperature, 0, p).tokens()) {
          EXPECT_GE(token, 0);
          EXPECT_LT(token, static_cast<double>(vocabulary));
        }
    }
}

TEST(sample, rows_that_cannot_be_drawn_from) {
  auto logits = normal(data_type::fp32, {6, 100}, 1, 2);
  for (double temperature : {0.0, 1e-8, 1.0, static_cast<double>(infinity)}) {
    auto const before = batch(logits, temperature).tokens();
    auto bad = logits.copy();
    for (int i = 0; i < 100; ++i) bad.set(NAN, 1, i);
    bad.set(NAN, 2, 37);
    for (int i = 0; i < 100; ++i) bad.set(-infinity, 3, i);
    bad.set(infinity, 4, 99);
    auto const after = batch(bad, temperature).tokens();
    EXPECT_EQ(after, (std::vector{before[0], -1.0, -1.0, -1.0, -1.0, before[5]}));
  }
  batch none(kit::blank(data_type::bf16, {2, 0}));
  EXPECT_EQ(none.tokens(), (std::vector{-1.0, -1.0}));
  EXPECT_TRUE(batch(kit::blank(data_type::bf16, {0, 10})).tokens().empty());
}

TEST(sample, temperatures) {
  auto const huge = kit::values(data_type::fp32, {1, 4}, {1e38, -1e38, 1e38, 0});
  for (int draw = 0; draw < 50; ++draw) {
    batch b(huge, 0.1);
    b.counter.set(draw, 0);
    EXPECT_TRUE(b.tokens()[0] == 0 || b.tokens()[0] == 2);
  }
  auto const logits = normal(data_type::fp32, {40, 1000}, 2, 3);
  EXPECT_EQ(batch(logits, 1e-8).tokens(), batch(logits, 0).tokens());
  EXPECT_EQ(batch(logits, 1e-45).tokens(), batch(logits, 0).tokens());

  // At +infinity all of the kept set is drawn alike, and nothing of logit -infinity.
  auto const few = kit::values(data_type::fp32, {1, 5}, {-90, -infinity, 30, -infinity, 2});
  std::array<int, 5> seen{};
  for (int draw = 0; draw < 3000; ++draw) {
    batch b(few, infinity);
    b.counter.set(draw, 0);
    ++seen[static_cast<std::size_t>(b.tokens()[0])];
  }
  EXPECT_EQ(seen[1] + seen[3], 0);
  for (int token : {0, 2, 4}) EXPECT_NEAR(seen[static_cast<std::size_t>(token)], 1000, 130);
}

TEST(sample, refused_contents) {
  auto const logits = kit::constant(data_type::fp32, {3, 4}, 0);
  for (float bad : {-1.0f, -infinity, NAN}) {
    batch b(logits);
    b.temperature.set(bad, 1);
    auto n = b.make();
    kit::expect_mentions(kit::message_of<submit_error>([&] { n.check(); }), {"sample", "temperature of row 1 is"});
    EXPECT_EQ(b.tokens()[1], -1); // where nobody looked
    EXPECT_GE(b.tokens()[2], 0);
  }
  batch b(logits);
  b.top_p.set(NAN, 2);
  auto n = b.make();
  kit::expect_mentions(kit::message_of<submit_error>([&] { n.check(); }), {"top_p of row 2 is nan"});
  EXPECT_EQ(b.tokens()[2], -1);
  b.top_p.set(infinity, 2);
  b.top_k.set(INT32_MIN, 2);
  b.temperature.set(infinity, 1);
  b.make().check();
  b.tokens();
}

TEST(sample, one_token_with_all_the_weight) {
  auto const logits = kit::constant(data_type::fp32, {1, 32000}, -infinity);
  logits.set(3, 0, 1);
  for (int k : {1 << 30, 0, -5, 31999, 7})
    for (int draw = 0; draw < 20; ++draw) {
      batch b(logits, 1, k, 1);
      b.counter.set(draw, 0);
      EXPECT_EQ(b.tokens()[0], 1);
    }
}

TEST(sample, a_draw_depends_on_its_row_seed_and_counter_only) {
  auto const logits = normal(data_type::bf16, {9, 4000}, 4, 2);
  for (auto const& b : {batch(logits), batch(logits, 0.7, 50), batch(logits, 1.5, 0, 0.95)}) {
    auto n = b.make();
    kit::expect_same_bits_for_any_cut(n, sample::token);
    auto const whole = n[sample::token].bits();
    n.run({.oracle = true});
    EXPECT_EQ(n[sample::token].bits(), whole);
    auto wide = b;
    wide.logits = kit::blank(data_type::bf16, {9, 4011}).slice(1, 7, 4007);
    for (int i = 0; i < 9; ++i)
      for (int j = 0; j < 4000; ++j) wide.logits.set(b.logits.get(i, j), i, j);
    auto sliced = wide.make();
    sliced.run();
    EXPECT_EQ(sliced[sample::token].bits(), whole);
  }
  // One row, other seeds and counters: other draws.
  auto const same = kit::constant(data_type::fp32, {64, 100000}, 0);
  auto const tokens = batch(same).tokens();
  EXPECT_GT(std::set<double>(tokens.begin(), tokens.end()).size(), 60u);
}

TEST(sample, draws_have_the_right_frequencies) {
  constexpr int draws = 100000;
  // Weights .4 .3 .2 .07 .03 at scattered places among 500 tokens, of which top-p 0.95 keeps four.
  int const places[] = {311, 7, 120, 444, 0};
  double const share[] = {0.4 / 0.97, 0.3 / 0.97, 0.2 / 0.97, 0.07 / 0.97, 0};
  auto const logits = kit::constant(data_type::fp32, {1, 500}, -infinity);
  double const weights[] = {0.4, 0.3, 0.2, 0.07, 0.03};
  for (int i = 0; i < 5; ++i) logits.set(std::log(weights[i]), 0, places[i]);
  auto rows = logits; // all of them the same
  rows.desc.extents[0].capacity = draws;
  rows.desc.strides[0] = 0;
  batch b(rows, 1, 0, 0.95);
  for (int draw = 0; draw < draws; ++draw) b.seed.set(draw % 3, draw);
  std::vector<int> seen(500);
  for (double token : b.tokens()) ++seen[static_cast<std::size_t>(token)];
  double chi_square = 0;
  int inside = 0;
  for (int i = 0; i < 4; ++i) {
    double const expected = draws * share[i];
    double const found = seen[static_cast<std::size_t>(places[i])];
    chi_square += (found - expected) * (found - expected) / expected;
    inside += static_cast<int>(found);
  }
  EXPECT_EQ(inside, draws);
  EXPECT_LT(chi_square, 16.27); // 3 degrees of freedom, one in a thousand
}

TEST(sample, refused_shapes) {
  batch const b(kit::blank(data_type::fp32, {3, 8}));
  auto const with = [&](int slot, kit::tensor const& t) {
    auto operands = b.operands();
    operands[static_cast<std::size_t>(slot)].second = t;
    return kit::refusal<sample>({}, operands);
  };
  kit::expect_mentions(with(sample::logits, kit::blank(data_type::int32, {3, 8})), {"logits", "int32"});
  kit::expect_mentions(with(sample::temperature, kit::blank(data_type::bf16, {3})), {"temperature", "bf16", "fp32"});
  kit::expect_mentions(with(sample::top_k, kit::blank(data_type::fp32, {3})), {"top_k", "fp32", "int32"});
  kit::expect_mentions(with(sample::seed, kit::blank(data_type::int32, {4})), {"seed: axis 0", "4", "3"});
  auto wide = kit::blank(data_type::fp32, {3, 8});
  wide.desc.extents[1].capacity = std::int64_t{1} << 40;
  kit::expect_mentions(with(sample::logits, wide), {"logits: axis 1", "1099511627776"});
  kit::expect_mentions(kit::refusal<sample>({.reserved = 1}, b.operands()), {"reserved is 1"});
}

} // namespace
} // namespace mk
