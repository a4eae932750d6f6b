/// Coordinates, modes and ownerships against plain loops; what is known of ownerships, and the plans for reductions and
/// spreads, against all threads times all slots.

#include <megakernels/tylo/layout/reduction.hpp>
#include <megakernels/tylo/layout/spread.hpp>

#include "shapes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tylo {

void PrintTo(coordinate const& c, std::ostream* to) { *to << '(' << c.row << ", " << c.column << ')'; }

namespace {

namespace shapes = mk::test::shapes;

using place = std::pair<int, int>;
place place_of(coordinate c) { return {c.row, c.column}; }

// --- coordinates

TEST(coordinates, have_two_axes) {
  constexpr coordinate c{3, 5};
  EXPECT_EQ(other(axis::rows), axis::columns);
  EXPECT_EQ(other(axis::columns), axis::rows);
  EXPECT_EQ(c.along(axis::rows), 3);
  EXPECT_EQ(c.along(axis::columns), 5);
  EXPECT_EQ(exchanged(c), (coordinate{5, 3}));
  EXPECT_EQ(step_along(axis::rows, 4), (coordinate{4, 0}));
  EXPECT_EQ(step_along(axis::columns, 4), (coordinate{0, 4}));
  EXPECT_EQ(collapsed(c, axis::rows), (coordinate{0, 5}));
  EXPECT_EQ(collapsed(c, axis::columns), (coordinate{3, 0}));
  EXPECT_EQ((2 * c + coordinate{1, 1} - coordinate{0, 4}), (coordinate{7, 7}));
}

// --- modes

using digits = std::vector<leaf>;

int size_of(digits const& d) {
  int size = 1;
  for (auto const& l : d) size *= l.count;
  return size;
}

/// All coordinates of digits, counted up.
std::vector<coordinate> counted(digits const& d) {
  std::vector<coordinate> result{{0, 0}};
  for (auto const& l : d) {
    auto const before = result;
    for (int i = 1; i < l.count; ++i)
      for (auto const& c : before) result.push_back({c.row + i * l.step.row, c.column + i * l.step.column});
  }
  return result;
}

mode mode_of(digits const& d) {
  mode m;
  for (auto const& l : d) m = m.then(l.count, l.step);
  return m;
}

class random_modes : public testing::Test {
protected:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  coordinate any_step() {
    int const row = below(7) - 3;
    return {row, below(7) - 3};
  }
  /// Steps are small, so that many a digit goes on where the one before ended.
  digits any_digits(int most) {
    digits d;
    for (int i = below(most + 1); i > 0; --i) {
      bool const goes_on = !d.empty() && below(3) == 0;
      auto const step = goes_on ? d.back().count * d.back().step : any_step();
      d.push_back({1 + below(4), step});
    }
    return d;
  }
  /// The same map: digits split in two or joined with ones of a single value.
  digits other_digits(digits const& d) {
    digits result;
    for (auto const& l : d) {
      if (below(2) == 0) result.push_back({1, any_step()});
      std::vector<int> divisors;
      for (int k = 1; k <= l.count; ++k)
        if (l.count % k == 0) divisors.push_back(k);
      int const first = divisors[static_cast<std::size_t>(below(static_cast<int>(divisors.size())))];
      result.push_back({first, l.step});
      result.push_back({l.count / first, first * l.step});
    }
    return result;
  }

private:
  std::mt19937_64 random_{11};
};

TEST_F(random_modes, count_their_digits) {
  for (int i = 0; i < 2000; ++i) {
    auto const d = any_digits(6);
    auto const m = mode_of(d);
    auto const expected = counted(d);
    ASSERT_EQ(m.size(), size_of(d));
    for (std::size_t k = 0; k < expected.size(); ++k) ASSERT_EQ(m(static_cast<unsigned>(k)), expected[k]);
  }
}

TEST_F(random_modes, are_equal_however_they_were_built) {
  for (int i = 0; i < 2000; ++i) {
    auto const d = any_digits(6);
    auto const m = mode_of(d);
    auto const split = other_digits(d);
    EXPECT_EQ(m, mode_of(split));
    auto const cut = split.begin() + below(static_cast<int>(split.size()) + 1);
    EXPECT_EQ(m, mode_of(digits(split.begin(), cut)).then(mode_of(digits(cut, split.end()))));
    for (int k = 0; k < m.leaves; ++k) EXPECT_GT(m.at(k).count, 1);
    for (int k = m.leaves; k < mode::most_leaves; ++k) EXPECT_EQ(m.at(k), leaf{});
  }
}

TEST_F(random_modes, are_equal_only_where_their_maps_are) {
  int equal = 0;
  for (int i = 0; i < 20000; ++i) {
    auto const a = any_digits(2), b = any_digits(2);
    bool const same = counted(a) == counted(b);
    ASSERT_EQ(mode_of(a) == mode_of(b), same);
    equal += same && size_of(a) > 1 ? 1 : 0;
  }
  EXPECT_GT(equal, 10);
}

TEST_F(random_modes, exchange_their_axes) {
  for (int i = 0; i < 500; ++i) {
    auto d = any_digits(6);
    auto const m = exchanged(mode_of(d));
    EXPECT_EQ(exchanged(m), mode_of(d));
    for (auto& l : d) l.step = {l.step.column, l.step.row};
    EXPECT_EQ(m, mode_of(d));
  }
}

TEST_F(random_modes, are_found_from_their_maps) {
  for (int i = 0; i < 2000; ++i) {
    auto const d = any_digits(6);
    auto const all = counted(d);
    auto const start = any_step();
    auto const fitted = fit_mode(size_of(d), [&](int k) { return start + all[static_cast<std::size_t>(k)]; });
    ASSERT_TRUE(fitted.fits);
    ASSERT_EQ(fitted.found, mode_of(d));
  }
}

/// Whether a list is the map of some digits, by trying all of them.
bool is_map_of_digits(std::vector<coordinate> const& list, int most_digits) {
  auto const size = list.size();
  if (size == 1) return true;
  if (most_digits == 0) return false;
  for (std::size_t count = 2; count <= size; ++count) {
    if (size % count != 0) continue;
    std::vector<coordinate> rest;
    for (std::size_t i = 0; i < size; i += count) rest.push_back(list[i]);
    bool is_digit = true;
    for (std::size_t i = 0; i < size && is_digit; ++i)
      is_digit = list[i] - rest[i / count] == static_cast<int>(i % count) * (list[1] - list[0]);
    if (is_digit && is_map_of_digits(rest, most_digits - 1)) return true;
  }
  return false;
}

TEST_F(random_modes, are_found_for_no_other_map) {
  int refused = 0, found = 0;
  auto const check = [&](std::vector<coordinate> const& list) {
    auto const fitted =
        fit_mode(static_cast<int>(list.size()), [&](int k) { return list[static_cast<std::size_t>(k)]; });
    ASSERT_EQ(fitted.fits, is_map_of_digits(list, mode::most_leaves));
    ++(fitted.fits ? found : refused);
  };
  for (int i = 0; i < 5000; ++i) { // one place of a mode is changed
    auto list = counted(any_digits(4));
    list[static_cast<std::size_t>(below(static_cast<int>(list.size())))] = any_step();
    check(list);
  }
  for (int i = 0; i < 5000; ++i) { // small lists of any places
    std::vector<coordinate> list(static_cast<std::size_t>(1 + below(8)));
    for (auto& c : list) c = {0, below(3)};
    check(list);
  }
  std::vector<coordinate> seven_digits{{0, 0}};
  for (int step = 1; step <= 2187; step *= 3) {
    auto const before = seven_digits;
    for (auto const& c : before) seven_digits.push_back({0, c.column + step});
    check(seven_digits);
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(found, 1000);
}

TEST(modes, have_six_digits_at_most) {
  mode m;
  int step = 1;
  for (int i = 0; i < mode::most_leaves; ++i, step *= 3) m = m.then(2, {0, step});
  EXPECT_EQ(m.size(), 64);
  EXPECT_EQ(m.then(1, {0, 7}), m);
  EXPECT_EQ(m.then(2, {0, 2 * step / 3}).leaves, 6) << "goes on where the last digit ended";
  EXPECT_ANY_THROW((void)m.then(2, {0, step}));
}

// --- ownerships

using held = std::function<coordinate(int thread, int slot)>;

void expect_holds(ownership const& o, coordinate shape, int threads, int slots, held const& expected) {
  EXPECT_EQ(o.shape, shape);
  ASSERT_EQ(o.threads(), threads);
  ASSERT_EQ(o.slots(), slots);
  for (int t = 0; t < threads; ++t)
    for (int s = 0; s < slots; ++s)
      ASSERT_EQ(o(static_cast<unsigned>(t), static_cast<unsigned>(s)), expected(t, s)) << "thread " << t << ", " << s;
}

TEST(ownerships, local) {
  for (int threads : {32, 64, 96, 256})
    for (int count : {1, 2, 7, 16}) {
      expect_holds(local<axis::columns>(count, threads), {threads, count}, threads, count,
                   [](int t, int s) { return coordinate{t, s}; });
      expect_holds(local<axis::rows>(count, threads), {count, threads}, threads, count,
                   [](int t, int s) { return coordinate{s, t}; });
    }
  EXPECT_EQ(local<axis::columns>(4).threads(), 32);
}

TEST(ownerships, striped) {
  for (int threads : {32, 128})
    for (int count : {1, 3, 4})
      for (int vector : {1, 2, 8}) {
        auto const at = [=](int t, int s) { return s / vector * threads * vector + t * vector + s % vector; };
        int const all = threads * count * vector;
        expect_holds(striped<axis::columns>(count, vector, threads), {1, all}, threads, count * vector,
                     [&](int t, int s) { return coordinate{0, at(t, s)}; });
        expect_holds(striped<axis::rows>(count, vector, threads), {all, 1}, threads, count * vector,
                     [&](int t, int s) { return coordinate{at(t, s), 0}; });
      }
}

/// PTX ISA, fragments of mma.m16n8k16 with 16-bit factors.
TEST(ownerships, of_the_factors_and_sums_of_mma) {
  expect_holds(shapes::mma_a, {16, 16}, 32, 8, [](int lane, int i) {
    int const row = lane / 4 + ((i < 2 || (i >= 4 && i < 6)) ? 0 : 8);
    return coordinate{row, lane % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  });
  expect_holds(shapes::mma_b, {16, 8}, 32, 4,
               [](int lane, int i) { return coordinate{lane % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0), lane / 4}; });
  expect_holds(shapes::mma_c, {16, 8}, 32, 4,
               [](int lane, int i) { return coordinate{lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)}; });
}

/// PTX ISA, fragment D of wgmma.m64nNk16.
TEST(ownerships, of_the_sums_of_wgmma) {
  auto const d = [](int thread, int i) {
    int const lane = thread % 32;
    return coordinate{thread / 32 * 16 + lane / 4 + (i / 2 % 2) * 8, i / 4 * 8 + lane % 4 * 2 + i % 2};
  };
  expect_holds(shapes::wgmma_64, {64, 64}, 128, 32, d);
  expect_holds(shapes::wgmma_256, {64, 256}, 128, 128, d);
}

TEST(ownerships, tiled) {
  auto const& part = shapes::mma_c;
  for (int rows : {1, 2})
    for (int columns : {1, 2, 3})
      for (repeats const warps : {repeats{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}, {3, 1}})
        expect_holds(tiled(part, {rows, columns}, warps), {16 * rows * warps.rows, 8 * columns * warps.columns},
                     32 * warps.rows * warps.columns, 4 * rows * columns, [&](int t, int s) {
                       int const warp = t / 32, copy = s / 4;
                       auto const inside = part(static_cast<unsigned>(t % 32), static_cast<unsigned>(s % 4));
                       return coordinate{inside.row + 16 * (copy % rows) + 16 * rows * (warp % warps.rows),
                                         inside.column + 8 * (copy / rows) + 8 * columns * (warp / warps.rows)};
                     });
}

TEST(ownerships, two_by_two_patches) {
  expect_holds(shapes::patches, {16, 8}, 32, 4,
               [](int t, int s) { return coordinate{t % 8 * 2 + s % 2, t / 8 * 2 + s / 2}; });
  expect_holds(shapes::turned_patches, {8, 16}, 32, 4,
               [](int t, int s) { return coordinate{t / 8 * 2 + s / 2, t % 8 * 2 + s % 2}; });
}

TEST(ownerships, equal_maps_are_equal_values) {
  EXPECT_EQ(local<axis::columns>(1), (ownership{{32, 1}, steps(4, {1, 0}).then(8, {4, 0}), steps(1, {9, 9})}));
  EXPECT_EQ(exchanged(local<axis::columns>(6)), local<axis::rows>(6));
  EXPECT_EQ(exchanged(exchanged(shapes::mma_a)), shapes::mma_a);
  EXPECT_EQ(tiled(local<axis::columns>(4), {1, 2}, {4, 1}), local<axis::columns>(8, 128));
  EXPECT_EQ(tiled(tiled(shapes::mma_c, {1, 2}), {1, 4}, {4, 1}), shapes::wgmma_64);
  EXPECT_FALSE(local<axis::columns>(4) == local<axis::rows>(4));
}

// --- what is known of many ownerships, against all threads times all slots

struct found_plan {
  reduction_verdict expected, verdict;
  int results;
  std::vector<int> members;
  unsigned distances;
  ownership result;
};

/// What the library says of an ownership.
struct found_ownership {
  std::string name;
  ownership o;
  ownership_facts facts;
  bool complete;
  int replicas;
  std::array<found_plan, 2> plans; ///< by axis
};

template <ownership O, axis Along> found_plan plan_found(reduction_verdict expected) {
  constexpr auto plan = reduction_of<O, Along>;
  if (plan.verdict == reduction_verdict::possible || plan.verdict == reduction_verdict::spans_warps) {
    EXPECT_TRUE((reduced<O, Along> == plan.result));
  }
  EXPECT_EQ((verdict_of<O, Along>), plan.verdict);
  EXPECT_EQ((distances_of<O, Along>), plan.distances);
  return {expected,       plan.verdict, plan.results, {std::begin(plan.members), std::end(plan.members)},
          plan.distances, plan.result};
}

template <ownership O>
found_ownership look(std::string name, reduction_verdict along_rows, reduction_verdict along_columns) {
  return {std::move(name), O,
          facts_of<O>,     is_complete<O>,
          replicas<O>,     {plan_found<O, axis::rows>(along_rows), plan_found<O, axis::columns>(along_columns)}};
}

std::vector<found_ownership> const& all_found() {
  using enum reduction_verdict;
#define LOOK(name, along_rows, along_columns) look<shapes::name>(#name, along_rows, along_columns)
  static std::vector<found_ownership> const all = {
      LOOK(one_each, possible, possible),
      LOOK(local_rows, possible, possible),
      LOOK(local_columns, possible, possible),
      LOOK(striped_singles, possible, possible),
      LOOK(striped_row, possible, possible),
      LOOK(striped_column, possible, possible),
      LOOK(mma_a, possible, possible),
      LOOK(mma_b, possible, possible),
      LOOK(mma_c, possible, possible),
      LOOK(wide_c, possible, possible),
      LOOK(patches, possible, possible),
      LOOK(turned_patches, possible, possible),
      LOOK(replicated_rows, possible, possible),
      LOOK(mixed_lanes, possible, possible),
      LOOK(overlapping, repeated, possible),
      LOOK(many_rows, spans_warps, possible),
      LOOK(long_row, possible, spans_warps),
      LOOK(c_4x1, spans_warps, possible),
      LOOK(wgmma_64, spans_warps, possible),
      LOOK(wgmma_256, spans_warps, possible),
      LOOK(c_2x2, spans_warps, spans_warps),
      LOOK(c_1x4, possible, spans_warps),
      LOOK(c_4x2, spans_warps, spans_warps),
      LOOK(c_3x1, spans_warps, possible),
      LOOK(c_1x3, possible, spans_warps),
      LOOK(equal_warps, possible, possible),
      LOOK(equal_pairs, possible, spans_warps),
      LOOK(pairs_of_equals, possible, spans_warps),
      LOOK(half_a_warp, possible, possible),
      LOOK(one_and_a_half_warps, irregular_slots, irregular_slots),
      LOOK(half_the_columns, possible, incomplete),
      LOOK(half_the_rows, incomplete, possible),
      LOOK(every_other_warp, possible, incomplete),
      LOOK(slots_twice, repeated, repeated),
      LOOK(lanes_overlap, possible, repeated),
      LOOK(warps_overlap, possible, repeated),
      LOOK(diagonal, irregular_slots, irregular_slots),
      LOOK(lanes_in_threes, irregular_slots, irregular_slots),
      LOOK(outside, outside, outside),
      LOOK(before_the_first, outside, outside),
      look<reduced<shapes::mma_c, axis::columns>>("sums_of_rows", possible, possible),
      look<reduced<shapes::wgmma_64, axis::columns>>("sums_of_many_rows", spans_warps, possible),
      look<reduced<shapes::c_2x2, axis::rows>>("sums_of_columns", possible, spans_warps),
  };
#undef LOOK
  return all;
}

/// All places that a thread holds, by slot.
std::vector<place> places_of(ownership const& o, int thread) {
  std::vector<place> result;
  for (int s = 0; s < o.slots(); ++s)
    result.push_back(place_of(o(static_cast<unsigned>(thread), static_cast<unsigned>(s))));
  return result;
}

TEST(known_facts, are_those_of_all_threads_and_slots) {
  for (auto const& f : all_found()) {
    SCOPED_TRACE(f.name);
    std::map<place, int> owners;
    for (int t = 0; t < f.o.threads(); ++t)
      for (auto const& p : places_of(f.o, t)) ++owners[p];
    bool in_bounds = true, covers = true, alike = true;
    for (auto const& [p, count] : owners)
      in_bounds = in_bounds && p.first >= 0 && p.second >= 0 && p.first < f.o.shape.row && p.second < f.o.shape.column;
    for (int row = 0; row < f.o.shape.row; ++row)
      for (int column = 0; column < f.o.shape.column; ++column) {
        covers = covers && owners.contains({row, column});
        alike = alike && owners[{row, column}] == owners[{0, 0}];
      }
    EXPECT_EQ(f.facts.in_bounds, in_bounds);
    EXPECT_EQ(f.complete, in_bounds && covers);
    if (in_bounds) {
      EXPECT_EQ(f.facts.covers, covers);
      EXPECT_EQ(f.replicas, alike ? (owners[{0, 0}]) : 0);
      EXPECT_EQ(f.facts.replicas, f.replicas);
    }
  }
}

// --- reductions

using places = std::multiset<place>;

int slots_joined(ownership const& o, found_plan const& plan) { return o.slots() / plan.results; }

/// What each thread has joined in each result when its warp is done: the shuffles are carried out on sets of places.
std::vector<std::vector<places>> joined_in_warps(ownership const& o, found_plan const& plan) {
  int const each = slots_joined(o, plan);
  std::vector<std::vector<places>> all(static_cast<std::size_t>(o.threads()));
  for (int t = 0; t < o.threads(); ++t) {
    auto const own = places_of(o, t);
    for (int r = 0; r < plan.results; ++r) {
      auto& joined = all[static_cast<std::size_t>(t)].emplace_back();
      for (int k = 0; k < each; ++k)
        joined.insert(own[static_cast<std::size_t>(plan.members[static_cast<std::size_t>(r * each + k)])]);
    }
  }
  for (std::size_t apart : {16, 8, 4, 2, 1}) {
    if ((plan.distances & apart) == 0) continue;
    auto const before = all;
    for (std::size_t t = 0; t < all.size(); ++t)
      for (std::size_t r = 0; r < all[t].size(); ++r)
        all[t][r].insert(before[t ^ apart][r].begin(), before[t ^ apart][r].end());
  }
  return all;
}

/// What each thread has when warps have joined as well: those of its lines, each place of a warp once.
std::vector<std::vector<places>> joined_across_warps(ownership const& o, axis along, found_plan const& plan) {
  auto const parts = joined_in_warps(o, plan);
  auto all = parts;
  for (std::size_t t = 0; t < all.size(); ++t)
    for (std::size_t r = 0; r < all[t].size(); ++r) {
      all[t][r].clear();
      std::set<place> seen;
      for (std::size_t w = 0; w < all.size(); w += 32) {
        auto const at = o.thread(static_cast<unsigned>(w));
        auto const mine = o.thread(static_cast<unsigned>(t / 32 * 32));
        if (at.along(other(along)) != mine.along(other(along)) || !seen.insert(place_of(at)).second) continue;
        auto const& part = parts[w + t % 32][r];
        all[t][r].insert(part.begin(), part.end());
      }
    }
  return all;
}

/// All places of the line of a result.
places line_of(ownership const& o, axis along, coordinate result) {
  places line;
  for (int i = 0; i < o.shape.along(along); ++i) line.insert(place_of(result + step_along(along, i)));
  return line;
}

bool has_repetition(places const& p) { return std::adjacent_find(p.begin(), p.end()) != p.end(); }

TEST(reduction_plans, have_the_verdicts_that_are_expected) {
  for (auto const& f : all_found())
    for (auto const& plan : f.plans)
      EXPECT_EQ(static_cast<int>(plan.verdict), static_cast<int>(plan.expected))
          << f.name << " along " << (&plan == &f.plans[0] ? "rows" : "columns");
}

TEST(reduction_plans, join_all_of_a_line_once) {
  int within_warps = 0, across_warps = 0;
  for (auto const& f : all_found())
    for (auto const along : {axis::rows, axis::columns}) {
      auto const& plan = f.plans[static_cast<std::size_t>(along)];
      bool const possible = plan.verdict == reduction_verdict::possible;
      if (!possible && plan.verdict != reduction_verdict::spans_warps) continue;
      SCOPED_TRACE(f.name + (along == axis::rows ? " along rows" : " along columns"));
      ++(possible ? within_warps : across_warps);
      EXPECT_EQ(plan.result.shape, collapsed(f.o.shape, along) + step_along(along, 1));
      ASSERT_EQ(plan.result.threads(), f.o.threads());
      ASSERT_EQ(plan.result.slots(), plan.results);
      auto const all = possible ? joined_in_warps(f.o, plan) : joined_across_warps(f.o, along, plan);
      for (std::size_t t = 0; t < all.size(); ++t)
        for (std::size_t r = 0; r < all[t].size(); ++r) {
          auto const at = plan.result(static_cast<unsigned>(t), static_cast<unsigned>(r));
          ASSERT_EQ(at.along(along), 0);
          ASSERT_EQ(all[t][r], line_of(f.o, along, at)) << "thread " << t << ", result " << r;
        }
    }
  EXPECT_GT(within_warps, 40);
  EXPECT_GT(across_warps, 12);
}

/// What a verdict says is wrong can be found.
TEST(reduction_plans, are_refused_for_a_reason) {
  for (auto const& f : all_found())
    for (auto const along : {axis::rows, axis::columns}) {
      auto const& plan = f.plans[static_cast<std::size_t>(along)];
      SCOPED_TRACE(f.name + (along == axis::rows ? " along rows" : " along columns"));
      EXPECT_EQ(plan.verdict == reduction_verdict::outside, !f.facts.in_bounds);
      if (plan.verdict == reduction_verdict::repeated) {
        bool repeats = false;
        for (auto const& thread : joined_across_warps(f.o, along, plan))
          for (auto const& joined : thread) repeats = repeats || has_repetition(joined);
        EXPECT_TRUE(repeats);
      }
      if (plan.verdict == reduction_verdict::incomplete) {
        bool misses = false;
        auto const all = joined_across_warps(f.o, along, plan);
        for (auto const& thread : all)
          for (auto const& joined : thread) misses = misses || static_cast<int>(joined.size()) < f.o.shape.along(along);
        EXPECT_TRUE(misses);
      }
      if (plan.verdict == reduction_verdict::spans_warps) {
        for (auto const& thread : joined_in_warps(f.o, plan))
          for (auto const& joined : thread) EXPECT_LT(static_cast<int>(joined.size()), f.o.shape.along(along));
      }
    }
}

/// No plan can do with fewer shuffles: each doubles what a result has joined.
TEST(reduction_plans, shuffle_as_often_as_they_must) {
  auto const shuffles = [](std::string const& name, axis along) {
    for (auto const& f : all_found())
      if (f.name == name) return std::popcount(f.plans[static_cast<std::size_t>(along)].distances);
    return -1;
  };
  EXPECT_EQ(shuffles("local_rows", axis::columns), 0);
  EXPECT_EQ(shuffles("local_rows", axis::rows), 5);
  EXPECT_EQ(shuffles("striped_row", axis::columns), 5);
  EXPECT_EQ(shuffles("striped_row", axis::rows), 0);
  EXPECT_EQ(shuffles("patches", axis::columns), 2);
  EXPECT_EQ(shuffles("patches", axis::rows), 3);
  EXPECT_EQ(shuffles("mma_c", axis::columns), 2);
  EXPECT_EQ(shuffles("wgmma_256", axis::columns), 2);
  EXPECT_EQ(shuffles("replicated_rows", axis::columns), 0);
  EXPECT_EQ(shuffles("mixed_lanes", axis::columns), 2);
  EXPECT_EQ(shuffles("sums_of_rows", axis::columns), 0);
}

// --- spreads

struct found_spread {
  std::string name;
  ownership to, from;
  bool possible;
  std::vector<int> slots;
};

template <ownership To, ownership From> found_spread spread_found(std::string name) {
  constexpr auto plan = spread_of<To, From>;
  EXPECT_EQ((spreads_to<To, From>), plan.possible);
  return {std::move(name), To, From, plan.possible, {std::begin(plan.from), std::end(plan.from)}};
}

template <ownership O> void add_spreads(std::vector<found_spread>& to, std::string const& name) {
  to.push_back(spread_found<O, O>(name + " with itself"));
  to.push_back(spread_found<O, exchanged(O)>(name + " with its exchange"));
  to.push_back(spread_found<O, shapes::mma_c>(name + " with mma_c"));
  constexpr auto rows = reduced<O, axis::rows>, columns = reduced<O, axis::columns>;
  to.push_back(spread_found<O, rows>(name + " with its reduction along rows"));
  to.push_back(spread_found<O, columns>(name + " with its reduction along columns"));
  to.push_back(spread_found<rows, O>("the reduction along rows with " + name));
  to.push_back(spread_found<rows, columns>("the reductions of " + name));
}

std::vector<found_spread> all_spreads() {
  std::vector<found_spread> all;
#define ADD(name) add_spreads<shapes::name>(all, #name)
  ADD(one_each);
  ADD(local_rows);
  ADD(local_columns);
  ADD(striped_row);
  ADD(mma_a);
  ADD(mma_c);
  ADD(wide_c);
  ADD(patches);
  ADD(turned_patches);
  ADD(replicated_rows);
  ADD(mixed_lanes);
  ADD(wgmma_64);
  ADD(c_2x2);
  ADD(c_3x1);
  ADD(equal_pairs);
#undef ADD
  constexpr ownership reversed{{32, 4}, steps(32, {1, 0}), steps(2, {0, 2}).then(2, {0, 1})};
  constexpr ownership twice{{32, 4}, steps(32, {1, 0}), steps(2, {0, 0}).then(4, {0, 1})};
  all.push_back(spread_found<local<axis::columns>(4), reversed>("slots in another order"));
  all.push_back(spread_found<local<axis::columns>(4), twice>("slots that are there twice"));
  all.push_back(spread_found<local<axis::columns>(4), local<axis::columns>(8)>("another shape"));
  all.push_back(spread_found<local<axis::columns>(4), local<axis::columns>(4, 64)>("other threads"));
  all.push_back(spread_found<shapes::mma_c, shapes::patches>("one shape, owned differently"));
  return all;
}

/// What the element at a place goes with, where axes of one element go with all.
place seen_by(ownership const& from, coordinate c) {
  return {from.shape.row == 1 ? 0 : c.row, from.shape.column == 1 ? 0 : c.column};
}

/// Whether slot `f` of `from` goes with slot `s` of `to` in every thread.
bool slot_goes_with(found_spread const& p, int s, int f) {
  for (int t = 0; t < p.to.threads(); ++t) {
    auto const thread = static_cast<unsigned>(t);
    if (place_of(p.from(thread, static_cast<unsigned>(f))) != seen_by(p.from, p.to(thread, static_cast<unsigned>(s))))
      return false;
  }
  return true;
}

bool can_be_spread(found_spread const& p) {
  if (p.to.threads() != p.from.threads()) return false;
  if (p.from.shape.row != 1 && p.from.shape.row != p.to.shape.row) return false;
  if (p.from.shape.column != 1 && p.from.shape.column != p.to.shape.column) return false;
  for (int s = 0; s < p.to.slots(); ++s) {
    bool any = false;
    for (int f = 0; f < p.from.slots() && !any; ++f) any = slot_goes_with(p, s, f);
    if (!any) return false;
  }
  return true;
}

TEST(spread_plans, name_slots_of_the_same_elements) {
  int possible = 0, refused = 0;
  for (auto const& p : all_spreads()) {
    SCOPED_TRACE(p.name);
    ASSERT_EQ(p.possible, can_be_spread(p));
    ++(p.possible ? possible : refused);
    for (int s = 0; p.possible && s < p.to.slots(); ++s) {
      auto const from = p.slots[static_cast<std::size_t>(s)];
      ASSERT_LT(from, p.from.slots());
      ASSERT_TRUE(slot_goes_with(p, s, from)) << "slot " << s;
    }
  }
  EXPECT_GT(possible, 45);
  EXPECT_GT(refused, 25);
}

TEST(spread_plans, take_every_reduction_back) {
  for (auto const& p : all_spreads())
    if (p.name.find(" with its reduction along ") != std::string::npos || p.name.ends_with(" with itself")) {
      EXPECT_TRUE(p.possible) << p.name;
    }
}

} // namespace
} // namespace tylo
