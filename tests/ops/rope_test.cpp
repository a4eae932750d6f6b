#include <megakernels/ops/rope/rope.hpp>

#include "kit.hpp"

#include <fstream>
#include <numbers>
#include <sstream>

namespace mk {
namespace {

using kit::tensor;

tensor positions(std::vector<double> const& list) {
  return kit::values(data_type::int32, {static_cast<std::int64_t>(list.size())}, list);
}

rope::arguments llama(std::int32_t head_dim, float factor) {
  return {.head_dim = head_dim,
          .rotary_dim = head_dim,
          .scaling = rope::llama3,
          .theta = 500000,
          .factor = factor,
          .low_frequency_factor = 1,
          .high_frequency_factor = 4,
          .original_length = 8192};
}

TEST(rope, both_pairings_of_a_head_of_eight) {
  auto const x = kit::values(data_type::fp32, {2, 8}, {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7});
  double const right[2][8] = {{-3.365884, 0.495837, 1.939901, 2.992999, 2.161209, 5.074854, 6.019700, 7.002996},
                              {-0.841471, 0.540302, 1.690508, 3.184679, 3.949801, 5.039749, 5.992997, 7.005996}};
  for (std::int32_t pairing : {rope::halves, rope::neighbours}) {
    kit::node<rope> n({.head_dim = 8, .rotary_dim = 8, .pairing = pairing},
                      {{rope::x, x}, {rope::position, positions({0, 1})}});
    n.run();
    for (std::int64_t i = 0; i < 8; ++i) {
      EXPECT_EQ(n[rope::y].get(0, i), static_cast<double>(i));
      EXPECT_NEAR(n[rope::y].get(1, i), right[pairing][i], 1e-6);
    }
  }
}

/// The formula of the Llama 3.1 release, in wavelengths.
std::vector<double> llama_frequencies(rope::arguments const& a) {
  std::vector<double> result;
  double const original = a.original_length, low = double(a.low_frequency_factor),
               high = double(a.high_frequency_factor);
  for (int i = 0; i < a.rotary_dim; i += 2) {
    double const frequency = 1 / std::pow(double(a.theta), double(i) / a.rotary_dim);
    double const wavelength = 2 * std::numbers::pi / frequency;
    if (wavelength < original / high)
      result.push_back(frequency);
    else if (wavelength > original / low)
      result.push_back(frequency / double(a.factor));
    else {
      double const smooth = (original / wavelength - low) / (high - low);
      result.push_back((1 - smooth) * frequency / double(a.factor) + smooth * frequency);
    }
  }
  return result;
}

TEST(rope, llama3_frequencies) {
  auto const small = rope_frequencies(llama(64, 32)), large = rope_frequencies(llama(128, 8));
  auto const plain = [](int i, int dim) { return std::pow(500000.0, -2.0 * i / dim); };
  for (int i = 0; i <= 14; ++i) EXPECT_NEAR(small[std::size_t(i)] / plain(i, 64), 1, 1e-12);
  double const blended[] = {0.605573, 0.303743, 0.103448};
  for (int i = 15; i <= 17; ++i) EXPECT_NEAR(small[std::size_t(i)] / plain(i, 64), blended[i - 15], 1e-6);
  for (int i = 18; i <= 31; ++i) EXPECT_NEAR(small[std::size_t(i)] / plain(i, 64), 1.0 / 32, 1e-12);
  EXPECT_NEAR(small.back(), 9.418307e-08, 1e-13);
  for (int i = 0; i <= 28; ++i) EXPECT_NEAR(large[std::size_t(i)] / plain(i, 128), 1, 1e-12);
  EXPECT_NEAR(large[29] / plain(29, 128), 0.828168, 1e-6);
  EXPECT_NEAR(large[34] / plain(34, 128), 0.190211, 1e-6);
  for (int i = 35; i <= 63; ++i) EXPECT_NEAR(large[std::size_t(i)] / plain(i, 128), 1.0 / 8, 1e-12);
  for (auto const& a : {llama(64, 32), llama(128, 8)}) {
    auto const found = rope_frequencies(a), right = llama_frequencies(a);
    for (std::size_t i = 0; i < right.size(); ++i) EXPECT_NEAR(found[i] / right[i], 1, 1e-13);
  }
}

/// Numbers of the arrays called `key` in a JSON text, one list for each time the key occurs.
std::vector<std::vector<double>> arrays_of(std::string const& text, std::string const& key) {
  std::vector<std::vector<double>> result;
  std::string const start = "\"" + key + "\":";
  for (auto at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    result.emplace_back();
    char const* from = text.c_str() + text.find('[', at) + 1;
    while (*from != ']') {
      char* end = nullptr;
      result.back().push_back(std::strtod(from, &end));
      from = end + strspn(end, ", \n");
    }
  }
  return result;
}

/// Rotations by another implementation (tests/golden/make_rope.py), at positions up to 20000.
TEST(rope, golden_rotations) {
  std::ifstream file(MK_GOLDEN_DIR "/rope_llama3.json");
  std::ostringstream contents;
  contents << file.rdbuf();
  auto const text = contents.str();
  auto const vectors = arrays_of(text, "vector"), frequencies = arrays_of(text, "inv_freq");
  std::vector<std::vector<double>> const rotated[2] = {arrays_of(text, "halves"), arrays_of(text, "neighbours")};
  ASSERT_EQ(vectors.size(), 2u);
  ASSERT_EQ(rotated[0].size(), 10u);
  for (std::size_t c = 0; c < 2; ++c) {
    auto a = c == 0 ? llama(64, 32) : llama(128, 8);
    auto const found = rope_frequencies(a);
    ASSERT_EQ(found.size(), frequencies[c].size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i] / frequencies[c][i], 1, 1e-13);
    auto const x = kit::blank(data_type::fp32, {5, a.head_dim});
    for (std::int64_t t = 0; t < 5; ++t)
      for (std::size_t i = 0; i < vectors[c].size(); ++i) x.set(static_cast<float>(vectors[c][i]), t, i);
    for (std::int32_t pairing : {rope::halves, rope::neighbours}) {
      a.pairing = pairing;
      kit::node<rope> n(a, {{rope::x, x}, {rope::position, positions({0, 1, 8191, 8192, 20000})}});
      for (bool oracle : {false, true}) {
        n.run({.oracle = oracle});
        kit::expect_close(
            n[rope::y], [&](auto t, auto i) { return rotated[pairing][c * 5 + std::size_t(t)][std::size_t(i)]; }, 0,
            6e-8);
      }
    }
  }
}

TEST(rope, a_part_of_the_head_and_every_type) {
  for (auto type : kit::floating_types)
    for (std::int32_t pairing : {rope::halves, rope::neighbours})
      for (std::int32_t rotary : {0, 2, 6, 10}) {
        rope::arguments const a{.head_dim = 10, .rotary_dim = rotary, .pairing = pairing, .theta = 100, .type = type};
        auto const x = kit::uniform(type, {3, 30}, 1);
        std::vector<double> const where{5, 0, 77};
        kit::node<rope> n(a, {{rope::x, x}, {rope::position, positions(where)}});
        auto const right = [&](std::int64_t t, std::int64_t column) {
          auto const head = column / 10 * 10, i = column % 10;
          if (i >= rotary) return x.get(t, column);
          bool const by_halves = pairing == rope::halves;
          auto const pair = by_halves ? i % (rotary / 2) : i / 2;
          bool const second = by_halves ? i >= rotary / 2 : i % 2 == 1;
          auto const p = head + (by_halves ? pair : 2 * pair), q = by_halves ? p + rotary / 2 : p + 1;
          double const angle = where[std::size_t(t)] * std::pow(100.0, -2.0 * double(pair) / rotary);
          return second ? x.get(t, q) * std::cos(angle) + x.get(t, p) * std::sin(angle)
                        : x.get(t, p) * std::cos(angle) - x.get(t, q) * std::sin(angle);
        };
        n.run();
        kit::expect_close(n[rope::y], right, 1, 1.5e-7);
        n.run({.oracle = true});
        kit::expect_close(n[rope::y], right, 1, 1e-10);
      }
}

TEST(rope, divisors_divide_the_frequencies) {
  rope::arguments const a{.head_dim = 8, .rotary_dim = 8};
  auto const x = kit::uniform(data_type::fp32, {2, 16}, 1);
  auto const where = positions({3, 500});
  auto const halved = kit::constant(data_type::fp32, {4}, 2);
  kit::node<rope> n(a, {{rope::x, x}, {rope::position, where}, {rope::divisors, halved}});
  n.run();
  for (std::int64_t t = 0; t < 2; ++t)
    for (std::int64_t pair = 0; pair < 4; ++pair) {
      double const angle = where.get(t) * std::pow(10000.0, -2.0 * double(pair) / 8) / 2;
      EXPECT_NEAR(n[rope::y].get(t, 8 + pair),
                  x.get(t, 8 + pair) * std::cos(angle) - x.get(t, 12 + pair) * std::sin(angle), 2e-7);
    }
  // What a thread remembers of one node must not leak into another: divisors that change, and none.
  auto const first = n[rope::y].bits();
  halved.set(5, 1);
  n.run();
  EXPECT_NE(n[rope::y].bits(), first);
  halved.set(2, 1);
  n.run();
  EXPECT_EQ(n[rope::y].bits(), first);
  kit::node<rope> without(a, {{rope::x, x}, {rope::position, where}});
  without.run();
  EXPECT_NE(without[rope::y].bits(), first);
  n.run();
  EXPECT_EQ(n[rope::y].bits(), first);
}

TEST(rope, llama3_is_the_same_as_its_divisors) {
  auto a = llama(64, 32);
  auto const x = kit::uniform(data_type::fp32, {4, 128}, 1);
  auto const where = positions({1, 100, 8191, 20000});
  kit::node<rope> scaled(a, {{rope::x, x}, {rope::position, where}});
  scaled.run();
  auto const divisors = kit::blank(data_type::fp32, {32});
  auto const frequencies = rope_frequencies(a);
  for (std::size_t i = 0; i < 32; ++i)
    divisors.set(static_cast<float>(std::pow(500000.0, -2.0 * double(i) / 64) / frequencies[i]), i);
  a.scaling = rope::no_scaling;
  kit::node<rope> divided(a, {{rope::x, x}, {rope::position, where}, {rope::divisors, divisors}});
  divided.run();
  // Divisors are fp32: an angle of 20000 radians moves by 2^-25 of itself.
  kit::expect_close(divided[rope::y], [&](auto t, auto i) { return scaled[rope::y].get(t, i); }, 0, 1e-3);
}

TEST(rope, any_cut_and_many_positions_give_the_same_bits) {
  std::vector<double> where;
  for (int i = 0; i < 9; ++i) where.push_back(i * 64 + i % 2); // several to one place in a table of 64
  kit::node<rope> n({.head_dim = 6, .rotary_dim = 4, .type = data_type::bf16},
                    {{rope::x, kit::uniform(data_type::bf16, {9, 30}, 1)}, {rope::position, positions(where)}});
  kit::expect_same_bits_for_any_cut(n, rope::y);
}

TEST(rope, no_rows_no_heads_and_any_position) {
  rope::arguments const a{.head_dim = 8, .rotary_dim = 8};
  kit::node<rope> none(a, {{rope::x, kit::blank(data_type::bf16, {0, 16})}, {rope::position, positions({})}});
  none.run();
  kit::node<rope> headless(a, {{rope::x, kit::blank(data_type::bf16, {2, 0})}, {rope::position, positions({0, 1})}});
  headless.run();
  kit::node<rope> far(a, {{rope::x, kit::constant(data_type::fp32, {2, 8}, 1)},
                          {rope::position, positions({2147483647, -2147483648.0})}});
  far.run();
  for (double v : far[rope::y].numbers()) EXPECT_LE(std::abs(v), 1.5);
}

TEST(rope, refusals) {
  auto const of = [](rope::arguments const& a, std::vector<std::pair<int, tensor>> const& more = {}) {
    std::vector<std::pair<int, tensor>> given{{rope::x, kit::blank(data_type::bf16, {3, 24})},
                                              {rope::position, positions({0, 1, 2})}};
    for (auto const& m : more) given.push_back(m);
    return kit::refusal<rope>(a, given);
  };
  rope::arguments const good{.head_dim = 8, .rotary_dim = 8};
  auto const changed = [&](auto change) {
    auto a = good;
    change(a);
    return of(a);
  };
  kit::expect_mentions(changed([](auto& a) { a.head_dim = 0; }), {"head_dim", "0"});
  kit::expect_mentions(changed([](auto& a) { a.head_dim = 7; }), {"x", "24", "7"});
  kit::expect_mentions(changed([](auto& a) { a.head_dim = 2147483647; }), {"2147483647"});
  kit::expect_mentions(changed([](auto& a) { a.rotary_dim = 5; }), {"rotary_dim", "5", "even"});
  kit::expect_mentions(changed([](auto& a) { a.rotary_dim = 10; }), {"rotary_dim", "10", "8"});
  kit::expect_mentions(changed([](auto& a) { a.rotary_dim = -2; }), {"rotary_dim", "-2"});
  kit::expect_mentions(changed([](auto& a) { a.pairing = 2; }), {"pairing", "2"});
  kit::expect_mentions(changed([](auto& a) { a.scaling = 9; }), {"scaling", "9"});
  kit::expect_mentions(changed([](auto& a) { a.theta = 0; }), {"theta", "0"});
  kit::expect_mentions(changed([](auto& a) { a.theta = NAN; }), {"theta", "nan"});
  kit::expect_mentions(changed([](auto& a) { a.type = data_type::int8; }), {"type"});
  auto bad = good;
  bad.scaling = rope::llama3;
  auto const divisors = kit::constant(data_type::fp32, {4}, 1);
  kit::expect_mentions(of(bad, {{rope::divisors, divisors}}), {"divisors", "llama3"});
  bad.factor = 0;
  kit::expect_mentions(of(bad), {"factor", "0"});
  bad = llama(8, 8);
  bad.high_frequency_factor = 1;
  kit::expect_mentions(of(bad), {"high_frequency_factor", "1"});
  bad = llama(8, 8);
  bad.original_length = 0;
  kit::expect_mentions(of(bad), {"original_length", "0"});
  kit::expect_mentions(of(good, {{rope::divisors, kit::constant(data_type::fp32, {5}, 1)}}), {"divisors", "5", "4"});
  kit::expect_mentions(of(good, {{rope::position, kit::blank(data_type::fp32, {3})}}), {"position", "fp32", "int32"});
  kit::expect_mentions(of(good, {{rope::position, kit::blank(data_type::int32, {4})}}), {"position", "4", "3"});
}

} // namespace
} // namespace mk
