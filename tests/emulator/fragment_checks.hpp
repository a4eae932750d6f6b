#pragma once

/// What the kernels of fragment_kernels.hpp must write, by plain loops over rows and columns. A runner is the emulator
/// or a GPU: it has `array<T>`, memory that kernels see, and `run<Case>(arguments)`, which returns the case's outputs.

#include "fragment_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace mk::test {

template <class T> bool same_bits(T const& a, T const& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// Calls f<Case>() for each case of a list.
template <class... Cases, class F> void for_each_case(case_list<Cases...>, F f) {
  (f.template operator()<Cases>(), ...);
}

/// Calls check<Case>(runner) for all cases of a list; a failure names the number of the case.
#define MK_CHECK_ALL(list, check, runner)                                                                              \
  for_each_case(list{}, [&, number = 0]<class Case>() mutable {                                                        \
    SCOPED_TRACE(#list " " + std::to_string(number++));                                                                \
    check<Case>(runner);                                                                                               \
  })

template <class T> std::vector<T> whole_tile(std::size_t count, std::int64_t largest, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> tile(count);
  for (auto& v : tile)
    v = static_cast<T>(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * largest + 1)) - largest);
  return tile;
}

inline std::size_t elements(ownership const& o) {
  return static_cast<std::size_t>(o.shape.row) * static_cast<std::size_t>(o.shape.column);
}

/// Where each slot of each thread lies in a row-major tile.
inline std::vector<std::size_t> places_of(ownership const& o) {
  std::vector<std::size_t> places;
  for (unsigned t = 0; t < static_cast<unsigned>(o.threads()); ++t)
    for (unsigned s = 0; s < static_cast<unsigned>(o.slots()); ++s) {
      auto const at = o(t, s);
      places.push_back(static_cast<std::size_t>(at.row * o.shape.column + at.column));
    }
  return places;
}

// --- element by element

template <class Case, class Runner> void check_map(Runner const& on) {
  auto const count = elements(Case::owned);
  auto const x = whole_tile<typename Case::x_type>(count, 100, 1);
  auto y = whole_tile<typename Case::y_type>(count, 100, 2);
  for (std::size_t i = 0; i < count; i += 3) y[i] = static_cast<typename Case::y_type>(x[i]);
  typename Runner::template array<typename Case::x_type> const x_there(x);
  typename Runner::template array<typename Case::y_type> const y_there(y);
  auto const found = on.template run<Case>({x_there.data(), y_there.data(), nullptr});
  auto const places = places_of(Case::owned);
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto const expected = Case::expression::expected(x[places[i]], y[places[i]]);
    if constexpr (Case::expression::bound == 0) {
      static_assert(std::is_same_v<decltype(expected), typename Case::output const>);
      ASSERT_TRUE(same_bits(found[i], expected)) << "slot " << i << ": " << found[i] << ", not " << expected;
    } else {
      ASSERT_NEAR(found[i], expected, expected * Case::expression::bound) << "slot " << i;
    }
  }
}

template <class Case, class Runner> void check_exchange(Runner const& on) {
  auto const& o = Case::owned;
  auto const tile = whole_tile<float>(elements(o), 1000, 3);
  typename Runner::template array<float> const there(tile);
  auto const found = on.template run<Case>({there.data(), nullptr});
  std::vector<float> sums(static_cast<std::size_t>(o.shape.along(other(Case::along))));
  auto const line = [&](std::size_t place) {
    auto const columns = static_cast<std::size_t>(o.shape.column);
    return Case::along == axis::columns ? place / columns : place % columns;
  };
  for (std::size_t i = 0; i < tile.size(); ++i) sums[line(i)] += tile[i];
  auto const places = places_of(o);
  for (std::size_t i = 0; i < places.size(); ++i) {
    ASSERT_EQ(found[i], tile[places[i]]);
    ASSERT_EQ(found[places.size() + i], tile[places[i]] - sums[line(places[i])]);
  }
  for (std::size_t t = 0; Case::one_sum && t < static_cast<std::size_t>(o.threads()); ++t)
    ASSERT_EQ(found[2 * places.size() + t], sums[line(places[t * static_cast<std::size_t>(o.slots())])]);
}

// --- reductions

/// A reduction as plain loops see it.
struct reduced_tile {
  ownership owned, result;
  axis along;

  [[nodiscard]] std::size_t lines() const { return static_cast<std::size_t>(owned.shape.along(other(along))); }
  [[nodiscard]] std::size_t extent() const { return static_cast<std::size_t>(owned.shape.along(along)); }
  [[nodiscard]] std::size_t place(std::size_t line, std::size_t i) const {
    auto const columns = static_cast<std::size_t>(owned.shape.column);
    return along == axis::columns ? line * columns + i : i * columns + line;
  }
  [[nodiscard]] std::size_t line_of(std::size_t place) const {
    auto const columns = static_cast<std::size_t>(owned.shape.column);
    return along == axis::columns ? place / columns : place % columns;
  }
  template <class T> [[nodiscard]] std::vector<T> line(std::vector<T> const& tile, std::size_t which) const {
    std::vector<T> elements;
    for (std::size_t i = 0; i < extent(); ++i) elements.push_back(tile[place(which, i)]);
    return elements;
  }
};

template <class Case> reduced_tile reduced_tile_of() { return {Case::owned, Case::result, Case::along}; }

/// What a thread has for each of five joins, then for each of three sections with all its slots.
template <class T> struct reduction_outputs {
  std::array<T const*, 5> joined;
  std::array<T const*, 3> spread;
};
template <class Case>
reduction_outputs<typename Case::output> outputs_of(std::vector<typename Case::output> const& found,
                                                    std::size_t group) {
  reduction_outputs<typename Case::output> o{};
  auto const* next = found.data() + group * Case::outputs_each;
  for (auto& p : o.joined) {
    p = next;
    next += Case::result.threads() * Case::result.slots();
  }
  for (auto& p : o.spread) {
    p = next;
    next += Case::owned.threads() * Case::owned.slots();
  }
  return o;
}

template <class T> struct line_joins {
  T sum, most, least, more, magnitude;
};
template <class T> line_joins<T> joins_of(std::vector<T> const& line) {
  line_joins<T> j{line[0], line[0], line[0], line[0], line[0]};
  for (std::size_t i = 1; i < line.size(); ++i) {
    auto const v = line[i];
    j.sum += v;
    j.most = std::max(j.most, v);
    j.least = std::min(j.least, v);
    j.more += v + T(3);
    auto const one = v < 0 ? -v : v, other = j.magnitude < 0 ? -j.magnitude : j.magnitude;
    if (one > other || (one == other && v > 0)) j.magnitude = v;
  }
  return j;
}

/// Whole numbers of which all sums are exact: every result is one of plain loops, to the bit, in all replicas.
template <class T>
void expect_reduced(reduced_tile const& r, std::vector<T> const& tile, reduction_outputs<T> const& o) {
  std::vector<line_joins<T>> lines;
  for (std::size_t i = 0; i < r.lines(); ++i) lines.push_back(joins_of(r.line(tile, i)));
  unsigned slot = 0;
  for (auto const line : places_of(r.result)) {
    auto const& e = lines[line]; // a tile of one element across each line
    ASSERT_EQ(o.joined[0][slot], e.sum) << "slot " << slot;
    ASSERT_EQ(o.joined[1][slot], e.most) << "slot " << slot;
    ASSERT_EQ(o.joined[2][slot], e.least) << "slot " << slot;
    ASSERT_EQ(o.joined[3][slot], e.more) << "slot " << slot;
    ASSERT_EQ(o.joined[4][slot], e.magnitude) << "slot " << slot;
    ++slot;
  }
  slot = 0;
  for (auto const place : places_of(r.owned)) {
    auto const& e = lines[r.line_of(place)];
    auto const x = tile[place];
    ASSERT_EQ(o.spread[0][slot], x - e.sum) << "slot " << slot;
    ASSERT_EQ(o.spread[1][slot], e.sum - x) << "slot " << slot;
    ASSERT_EQ(o.spread[2][slot], x == e.most ? e.least : x) << "slot " << slot;
    ++slot;
  }
}

/// Largest whole number so that sums of a line are exact.
template <class T> constexpr std::int64_t largest_whole() {
  if constexpr (std::is_same_v<T, float>) return 1 << 14;
  if constexpr (std::is_same_v<T, double>) return std::int64_t(1) << 42;
  if constexpr (std::is_same_v<T, std::int32_t>) return 1 << 20;
  return std::int64_t(1) << 52;
}

/// Checks one group's outputs after another.
template <class Case, class Runner, class Check>
void for_each_group(Runner const& on, std::vector<typename Case::output> const& tile, Check const& check) {
  typename Runner::template array<typename Case::output> const there(tile);
  auto const found = on.template run<Case>({there.data(), nullptr});
  for (std::size_t g = 0; g < Case::groups; ++g) check(outputs_of<Case>(found, g));
}

template <class Case, class Runner> void check_reduction(Runner const& on) {
  using T = typename Case::output;
  auto const tile = whole_tile<T>(elements(Case::owned), largest_whole<T>(), 4);
  for_each_group<Case>(on, tile, [&](auto const& o) { expect_reduced(reduced_tile_of<Case>(), tile, o); });
}

/// A largest or least value: NaN only where there is nothing else, +0 over -0.
template <class T> void expect_extreme(T found, std::vector<T> const& line, bool largest) {
  bool none = true;
  T best = 0;
  for (auto const v : line) {
    if (std::isnan(v)) continue;
    bool const zero_beats = v == 0 && best == 0 && std::signbit(v) != largest && std::signbit(best) == largest;
    if (none || (largest ? v > best : v < best) || zero_beats) best = v;
    none = false;
  }
  if (none)
    EXPECT_TRUE(std::isnan(found));
  else
    EXPECT_TRUE(same_bits(found, best)) << found << ", not " << best;
}

/// Lines of NaN, zeros of both signs, infinities and numbers, more and less of each.
template <class T> std::vector<T> special_tile(reduced_tile const& r, std::uint64_t seed) {
  using limits = std::numeric_limits<T>;
  std::vector<std::vector<T>> const kinds = {{limits::quiet_NaN()},
                                             {T(0), T(-0.0)},
                                             {T(-0.0)},
                                             {limits::quiet_NaN(), T(0), T(-0.0)},
                                             {-limits::infinity()},
                                             {-limits::infinity(), limits::quiet_NaN()},
                                             {-limits::infinity(), T(-1), T(2), T(-0.0), limits::quiet_NaN()},
                                             {limits::infinity(), limits::denorm_min(), T(-3), T(0)}};
  std::mt19937_64 random(seed);
  std::vector<T> tile(elements(r.owned));
  for (std::size_t line = 0; line < r.lines(); ++line) {
    auto const& kind = kinds[(line + seed) % kinds.size()];
    for (std::size_t i = 0; i < r.extent(); ++i) tile[r.place(line, i)] = kind[random() % kind.size()];
  }
  return tile;
}

template <class Case, class Runner> void check_special_values(Runner const& on) {
  using T = typename Case::output;
  if constexpr (std::is_floating_point_v<T>) {
    auto const r = reduced_tile_of<Case>();
    for (std::uint64_t seed = 0; seed < (r.lines() >= 8 ? 1 : 8); ++seed) {
      auto const tile = special_tile<T>(r, seed);
      for_each_group<Case>(on, tile, [&](auto const& o) {
        unsigned slot = 0;
        for (auto const line : places_of(r.result)) {
          expect_extreme(o.joined[1][slot], r.line(tile, line), true);
          expect_extreme(o.joined[2][slot], r.line(tile, line), false);
          ++slot;
        }
      });
    }
  }
}

/// Sums that round: all replicas have the same bits, near the exact sum.
template <class Case, class Runner> void check_rounded_sums(Runner const& on) {
  using T = typename Case::output;
  if constexpr (std::is_floating_point_v<T>) {
    auto const r = reduced_tile_of<Case>();
    std::mt19937_64 random(6);
    std::vector<T> tile(elements(r.owned));
    for (auto& v : tile) v = std::uniform_real_distribution<T>(-1, 1)(random);
    for_each_group<Case>(on, tile, [&](auto const& o) {
      std::vector<T const*> of_line(r.lines());
      auto const* next = o.joined[0];
      for (auto const line : places_of(r.result)) {
        if (of_line[line] != nullptr) {
          EXPECT_TRUE(same_bits(*next, *of_line[line]));
        }
        of_line[line] = next++;
      }
      for (std::size_t line = 0; line < r.lines(); ++line) {
        long double sum = 0, magnitude = 0;
        for (auto const v : r.line(tile, line)) {
          sum += v;
          magnitude += std::abs(v);
        }
        auto const bound = static_cast<long double>(std::numeric_limits<T>::epsilon()) * magnitude *
                           static_cast<long double>(std::bit_width(r.extent()));
        EXPECT_LE(std::abs(*of_line[line] - sum), bound);
      }
    });
  }
}

// --- online softmax

/// Scores of pieces, by line, with what is masked left out; and what the kernels are given.
struct softmax_data {
  reduced_tile r;
  float scale;
  std::vector<int> widths;
  std::vector<float> scores; ///< of all pieces

  static constexpr double range = 20; ///< between the largest score and the least

  softmax_data(reduced_tile const& tile, float softmax_scale, std::uint64_t seed)
      : r(tile), scale(softmax_scale), scores(softmax_pieces * elements(tile.owned)) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < softmax_pieces; ++i) widths.push_back(static_cast<int>(random() % (r.extent() + 1)));
    widths[seed % softmax_pieces] = static_cast<int>(r.extent());
    for (auto& v : scores)
      v = random() % 8 == 0 ? minus_infinity : std::uniform_real_distribution<float>(-range / 2, range / 2)(random);
    for (std::size_t line = 0; line < r.lines(); line += 3) // nothing in a piece, or in all
      for (std::size_t piece = 0; piece < softmax_pieces; ++piece)
        for (std::size_t i = 0; i < r.extent() && (line % 2 == 0 || piece == 0); ++i)
          at(piece, line, i) = minus_infinity;
    for (std::size_t piece = 0; piece < softmax_pieces; ++piece) // memory that must not be looked at
      for (std::size_t line = 0; line < r.lines(); ++line)
        for (auto i = static_cast<std::size_t>(widths[piece]); i < r.extent(); ++i) at(piece, line, i) = NAN;
  }

  float& at(std::size_t piece, std::size_t line, std::size_t i) {
    return scores[piece * elements(r.owned) + r.place(line, i)];
  }
  /// -inf where it is masked.
  [[nodiscard]] double score(std::size_t piece, std::size_t place) const {
    auto const columns = static_cast<std::size_t>(r.owned.shape.column);
    auto const i = r.along == axis::columns ? place % columns : place / columns;
    return i < static_cast<std::size_t>(widths[piece]) ? scores[piece * elements(r.owned) + place] : -INFINITY;
  }
  [[nodiscard]] float scale_log2() const { return scale * tylo::log2_e; }

  /// The largest score of a line in pieces before `end`.
  [[nodiscard]] double most(std::size_t line, std::size_t end = softmax_pieces, std::size_t first = 0,
                            std::size_t step = 1) const {
    double most = -INFINITY;
    for (auto piece = first; piece < end; piece += step)
      for (std::size_t i = 0; i < r.extent(); ++i) most = std::max(most, score(piece, r.place(line, i)));
    return most;
  }
  /// 2^(scale * (score - most)); 0 for what is masked.
  [[nodiscard]] double weight(double score, double most) const {
    return score == -INFINITY ? 0 : std::exp2(static_cast<double>(scale_log2()) * (score - most));
  }
  [[nodiscard]] double sum(std::size_t line) const {
    double const largest = most(line);
    double sum = 0;
    for (std::size_t piece = 0; piece < softmax_pieces; ++piece)
      for (std::size_t i = 0; i < r.extent(); ++i) sum += weight(score(piece, r.place(line, i)), largest);
    return sum;
  }

  /// Of a weight, relative: its exponent has two roundings, of the difference and of its product with the scale; then
  /// two ulp of the power.
  [[nodiscard]] double weight_bound() const { return range * scale_log2() * 0.7 * 0x1p-23 + 0x1p-22; }
  /// Of a sum, relative: one weight, a factor for each piece, and a rounding for each level of the sums.
  [[nodiscard]] double sum_bound() const {
    return (softmax_pieces + 1) * (weight_bound() + 0x1p-23) +
           static_cast<double>(std::bit_width(r.extent())) * 0x1p-24;
  }
};

/// What a state has in the end: largest, sum, normalizer and logarithm of each slot of a result.
inline void expect_state(softmax_data const& d, float const* found) {
  auto const lines = places_of(d.r.result);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto const most = d.most(lines[i]), sum = d.sum(lines[i]);
    auto const value = [&](std::size_t section) { return double(found[section * lines.size() + i]); };
    SCOPED_TRACE("line " + std::to_string(lines[i]));
    EXPECT_EQ(value(0), most);
    EXPECT_NEAR(value(1), sum, sum * d.sum_bound());
    if (most == -INFINITY) {
      EXPECT_EQ(value(2), 0);
      EXPECT_EQ(value(3), -INFINITY);
      continue;
    }
    EXPECT_NEAR(value(2), 1 / sum, (d.sum_bound() + 0x1p-22) / sum);
    auto const logarithm = d.scale * most + std::log(sum);
    EXPECT_NEAR(value(3), logarithm, d.sum_bound() + 0x1p-21 * (std::abs(logarithm) + std::abs(d.scale * most) + 1));
  }
}

template <class Case, class Runner> std::vector<float> run_softmax(Runner const& on, softmax_data const& d) {
  typename Runner::template array<float> const scores(d.scores);
  typename Runner::template array<int> const widths(d.widths);
  return on.template run<Case>({scores.data(), widths.data(), d.scale_log2(), nullptr});
}

/// Weights are relative to the largest score so far; with all later factors and the normalizer they are the shares.
inline void expect_online(softmax_data const& d, std::vector<float> const& found) {
  auto const places = places_of(d.r.owned), lines = places_of(d.r.result);
  auto const each = places.size() + lines.size();
  auto const* const state = found.data() + softmax_pieces * each;
  std::vector<double> factor(d.r.lines()), sums; // factors of later pieces, going backwards
  std::vector<std::array<double, softmax_pieces + 1>> most(d.r.lines());
  for (std::size_t i = 0; i < lines.size(); ++i) factor[lines[i]] = state[2 * lines.size() + i];
  for (std::size_t line = 0; line < d.r.lines(); ++line) {
    sums.push_back(d.sum(line));
    for (std::size_t end = 0; end <= softmax_pieces; ++end) most[line][end] = d.most(line, end);
  }
  for (std::size_t piece = softmax_pieces; piece-- > 0;) {
    auto const* const weights = found.data() + piece * each;
    for (std::size_t i = 0; i < places.size(); ++i) {
      auto const line = d.r.line_of(places[i]);
      auto const score = d.score(piece, places[i]);
      auto const expected = d.weight(score, most[line][piece + 1]);
      ASSERT_NEAR(weights[i], expected, expected * d.weight_bound() + 0x1p-126) << "piece " << piece << ", slot " << i;
      auto const share = score == -INFINITY ? 0 : d.weight(score, most[line][softmax_pieces]) / sums[line];
      ASSERT_NEAR(weights[i] * factor[line], share, share * 2 * d.sum_bound() + 0x1p-126);
    }
    auto const* const rescale = weights + places.size();
    auto const later = factor;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      auto const expected = d.weight(most[lines[i]][piece], most[lines[i]][piece + 1]);
      ASSERT_NEAR(rescale[i], expected, expected * d.weight_bound() + 0x1p-126) << "piece " << piece;
      factor[lines[i]] = later[lines[i]] * rescale[i];
    }
  }
  expect_state(d, state);
}

template <class Case, class Runner> void check_softmax(Runner const& on) {
  std::uint64_t seed = 0;
  for (float scale : {1.0f, 0.125f}) {
    softmax_data const d(reduced_tile_of<Case>(), scale, ++seed);
    expect_online(d, run_softmax<Case>(on, d));
  }
}

/// Scores so far apart that only the largest have weights, with differences that are no floats.
template <class Case, class Runner> void check_extreme_scores(Runner const& on) {
  constexpr float largest = std::numeric_limits<float>::max();
  softmax_data d(reduced_tile_of<Case>(), 1, 2);
  for (auto& v : d.scores)
    if (std::isfinite(v)) v = v < -5 ? -largest : v > 9 ? largest : v > 7 ? 0.0f : minus_infinity;
  auto const found = run_softmax<Case>(on, d);
  auto const places = places_of(d.r.owned), lines = places_of(d.r.result);
  std::vector<int> count(d.r.lines());
  for (std::size_t line = 0; line < d.r.lines(); ++line)
    for (std::size_t piece = 0; piece < softmax_pieces; ++piece)
      for (std::size_t i = 0; i < d.r.extent(); ++i) {
        auto const score = d.score(piece, d.r.place(line, i));
        count[line] += score != -INFINITY && score == d.most(line) ? 1 : 0;
      }
  auto const each = places.size() + lines.size();
  auto const* const state = found.data() + softmax_pieces * each;
  std::vector<double> factor(d.r.lines()); // factors of later pieces, going backwards
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ASSERT_EQ(state[i], d.most(lines[i]));
    factor[lines[i]] = state[2 * lines.size() + i];
  }
  for (std::size_t piece = softmax_pieces; piece-- > 0;) {
    auto const* const weights = found.data() + piece * each;
    for (std::size_t i = 0; i < places.size(); ++i) {
      auto const line = d.r.line_of(places[i]);
      auto const score = d.score(piece, places[i]);
      auto const share = score != -INFINITY && score == d.most(line) ? 1.0 / count[line] : 0;
      ASSERT_NEAR(weights[i] * factor[line], share, 0x1p-20 * share + 0x1p-60);
    }
    auto const later = factor;
    for (std::size_t i = 0; i < lines.size(); ++i) factor[lines[i]] = later[lines[i]] * weights[places.size() + i];
  }
}

template <class Case, class Runner> void check_merge(Runner const& on) {
  softmax_data const d(reduced_tile_of<Case>(), 0.5f, 9);
  auto const found = run_softmax<Case>(on, d);
  auto const lines = places_of(d.r.result);
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (std::size_t first : {0u, 1u}) {
      auto const expected = d.weight(d.most(lines[i], softmax_pieces, first, 2), d.most(lines[i]));
      EXPECT_NEAR(found[first * lines.size() + i], expected, expected * d.weight_bound());
    }
  expect_state(d, found.data() + 2 * lines.size());
}

// --- worked kernels

/// Shares of each row in doubles.
inline std::vector<double> shares_of(std::vector<double> const& logits, std::size_t columns) {
  std::vector<double> shares(logits.size());
  for (std::size_t row = 0; row < logits.size(); row += columns) {
    double most = -INFINITY, sum = 0;
    for (std::size_t i = row; i < row + columns; ++i) most = std::max(most, logits[i]);
    for (std::size_t i = row; i < row + columns; ++i)
      sum += shares[i] = most == -INFINITY ? 0 : std::exp(logits[i] - most);
    for (std::size_t i = row; i < row + columns && sum > 0; ++i) shares[i] /= sum;
  }
  return shares;
}

/// Logits from -8 to 8, with masked ones and a masked row.
inline std::vector<float> some_logits(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> logits(rows * columns);
  for (auto& v : logits) v = random() % 9 == 0 ? minus_infinity : std::uniform_real_distribution<float>(-8, 8)(random);
  for (std::size_t i = 0; i < columns; ++i) logits[columns + i] = minus_infinity;
  return logits;
}

/// Relative: the exponent's two roundings (of up to 24), the power, the sum's roundings, the quotient.
inline constexpr double share_bound = 2 * (24 * 0x1p-23 + 0x1p-22) + 12 * 0x1p-24;

inline void expect_shares(double found, double expected) {
  ASSERT_NEAR(found, expected, expected * share_bound + 1e-37);
}

template <class Runner> void check_softmax_by_lanes(Runner const& on) {
  for (std::size_t const columns : {1u, 17u, 24u}) {
    constexpr std::size_t rows = 150;
    auto const logits = some_logits(rows, columns, columns);
    std::vector<float> turned(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) turned[i % columns * rows + i / columns] = logits[i];
    typename Runner::template array<float> const there(turned);
    auto const found = on.template run<softmax_by_lanes>({there.data(), nullptr, int(rows), int(columns)});
    auto const expected = shares_of({logits.begin(), logits.end()}, columns);
    for (std::size_t i = 0; i < expected.size(); ++i)
      expect_shares(found[i % columns * rows + i / columns], expected[i]);
  }
}

template <class Runner> void check_softmax_by_warps(Runner const& on) {
  for (std::size_t const columns : {5u, 300u, 384u}) {
    constexpr std::size_t rows = 5;
    auto const logits = some_logits(rows, columns, columns);
    typename Runner::template array<float> const there(logits);
    auto const found = on.template run<softmax_by_warps>({there.data(), nullptr, int(rows), int(columns)});
    auto const expected = shares_of({logits.begin(), logits.end()}, columns);
    for (std::size_t i = 0; i < expected.size(); ++i) expect_shares(found[i], expected[i]);
  }
}

template <class Runner> void check_softmax_epilogue(Runner const& on) {
  auto const sums = some_logits(64, 64, 1);
  auto const bias = whole_tile<float>(64, 3, 2);
  constexpr float scale = 0.5f;
  typename Runner::template array<float> const sums_there(sums), bias_there(bias);
  auto const found = on.template run<softmax_epilogue>({sums_there.data(), bias_there.data(), scale, nullptr});
  std::vector<double> logits(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) logits[i] = std::fma(sums[i], scale, bias[i % 64]);
  auto const expected = shares_of(logits, 64);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_shares(found[i], expected[i]);
}

} // namespace mk::test
