/// Layouts and swizzles against plain loops over all coordinates.

#include <megakernels/tylo/layout/layout.hpp>

#include "message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace tylo {
namespace {

template <class Layout, class F> void expect_offsets(Layout const& map, int rows, int columns, F expected) {
  ASSERT_EQ(map.extent(axis::rows), rows);
  ASSERT_EQ(map.extent(axis::columns), columns);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) ASSERT_EQ(map({r, c}), expected(r, c)) << "at (" << r << ", " << c << ")";
}

/// 6 x 15 as two digits each: rows (2, 30)(3, 1), columns (5, 3)(3, 60).
constexpr auto two_digits = layout_of(axis_of(constant<2>{}, constant<30>{}, constant<3>{}, constant<1>{}),
                                      axis_of(constant<5>{}, constant<3>{}, constant<3>{}, constant<60>{}));

// --- makers

TEST(layouts, of_rows_one_after_another) {
  expect_offsets(row_major<5, 7>(), 5, 7, [](int r, int c) { return 7 * r + c; });
  expect_offsets(row_major<5, 7, 12>(), 5, 7, [](int r, int c) { return 12 * r + c; });
  for (int rows = 1; rows < 5; ++rows)
    for (int columns = 1; columns < 5; ++columns) {
      expect_offsets(row_major(rows, columns), rows, columns, [&](int r, int c) { return columns * r + c; });
      expect_offsets(row_major(rows, constant<7>{}), rows, 7, [](int r, int c) { return 7 * r + c; });
      expect_offsets(row_major(constant<3>{}, columns, multiple_of<8>{16}), 3, columns,
                     [](int r, int c) { return 16 * r + c; });
    }
}

TEST(layouts, of_columns_one_after_another) {
  expect_offsets(column_major<5, 7>(), 5, 7, [](int r, int c) { return r + 5 * c; });
  expect_offsets(column_major<5, 7, 8>(), 5, 7, [](int r, int c) { return r + 8 * c; });
  int const rows = 3, columns = 4;
  expect_offsets(column_major(rows, columns), 3, 4, [](int r, int c) { return r + 3 * c; });
  expect_offsets(column_major(rows, columns, 6), 3, 4, [](int r, int c) { return r + 6 * c; });
}

TEST(layouts, of_several_digits_an_axis) {
  expect_offsets(two_digits, 6, 15, [](int r, int c) { return r % 2 * 30 + r / 2 + c % 5 * 3 + c / 5 * 60; });

  int const four = 4, pitch = 100; // known at run time only, in between numbers that are not
  auto const mixed = layout_of(axis_of(four, 2, constant<3>{}, multiple_of<50>{pitch}, 2, constant<1000>{}),
                               axis_of(constant<2>{}, constant<1>{}, 3, 8));
  expect_offsets(mixed, 24, 6,
                 [](int r, int c) { return r % 4 * 2 + r / 4 % 3 * 100 + r / 12 * 1000 + c % 2 + c / 2 * 8; });
  EXPECT_EQ(sizeof mixed, 6 * sizeof(std::int64_t)) << "four numbers of rows, two of columns";

  auto const four_leaves = axis_of(constant<2>{}, constant<1>{}, constant<2>{}, constant<4>{}, constant<2>{},
                                   constant<16>{}, constant<2>{}, constant<64>{});
  expect_offsets(layout_of(four_leaves, axis_of()), 16, 1,
                 [](int r, int) { return r % 2 + r / 2 % 2 * 4 + r / 4 % 2 * 16 + r / 8 * 64; });
}

TEST(layouts, of_tiles) {
  expect_offsets(tiles_of(row_major<4, 6>(), column_major<3, 2>()), 12, 12,
                 [](int r, int c) { return (r / 4 + 3 * (c / 6)) * 24 + r % 4 * 6 + c % 6; });
  int const down = 3, right = 2;
  expect_offsets(tiles_of(column_major<4, 2>(), row_major(down, right)), 12, 4,
                 [](int r, int c) { return (r / 4 * 2 + c / 2) * 8 + r % 4 + c % 2 * 4; });
  // Every tile has the swizzle that it has alone.
  constexpr auto inner = swizzled<swizzle{1, 2, 2}>(row_major<8, 8>());
  expect_offsets(tiles_of(inner, row_major<2, 2>()), 16, 16,
                 [&](int r, int c) { return (r / 8 * 2 + c / 8) * 64 + inner({r % 8, c % 8}); });
}

TEST(layouts, of_what_others_select) {
  constexpr auto odd_rows = axis_form{}.then(3, 2);
  constexpr auto turned = axis_form{}.then(2, 4).then(4, 1); // columns 0 4 1 5 2 6 3 7
  auto const column = [](int c) { return c % 2 * 4 + c / 2; };
  expect_offsets(composed<odd_rows, turned>(row_major<6, 8>()), 3, 8, [&](int r, int c) { return 16 * r + column(c); });
  int const pitch = 24;
  expect_offsets(composed<odd_rows, turned>(row_major(6, 8, multiple_of<8>{pitch})), 3, 8,
                 [&](int r, int c) { return 48 * r + column(c); });
  // Through the leaves of another layout, and through its swizzle.
  constexpr auto tiles = swizzled<swizzle{2, 0, 3}>(tiles_of(row_major<2, 4>(), column_major<3, 2>()));
  expect_offsets(composed<odd_rows, turned>(tiles), 3, 8, [&](int r, int c) { return tiles({2 * r, column(c)}); });
  // Nothing of a run-time stride is left where all that is selected is one.
  constexpr auto same = axis_form{}.then(4, 0);
  expect_offsets(layout_of(composed<same>(axis_of(6, pitch)), axis_of()), 4, 1, [](int, int) { return 0; });
}

// --- what the compiler knows

template <class A, class B> constexpr bool are_one_type(A const&, B const&) { return std::is_same_v<A, B>; }

TEST(layouts, that_are_equal_static_maps_are_one_type) {
  using one = constant<1>;
  EXPECT_TRUE(
      are_one_type(axis_of(constant<8>{}, one{}, constant<4>{}, constant<8>{}), axis_of(constant<32>{}, one{})));
  EXPECT_TRUE(are_one_type(axis_of(one{}, constant<77>{}, constant<4>{}, constant<3>{}),
                           axis_of(constant<4>{}, constant<3>{}, one{}, constant<5>{})));
  EXPECT_TRUE(are_one_type(tiles_of(row_major<4, 8>(), row_major<3, 1>()), row_major<12, 8>()));
  EXPECT_TRUE(are_one_type(swizzled<swizzle{0, 4, 3}>(row_major<4, 8>()), row_major<4, 8>()));
  EXPECT_TRUE(are_one_type(exchanged(exchanged(two_digits)), two_digits));
  EXPECT_TRUE(are_one_type(exchanged(row_major<4, 8>()), column_major<8, 4>()));
  EXPECT_FALSE(are_one_type(row_major<4, 8>(), row_major<4, 8, 9>()));
  EXPECT_FALSE(are_one_type(row_major<4, 8>(), column_major<4, 8>()));
  EXPECT_FALSE(
      are_one_type(axis_of(constant<8>{}, one{}, constant<4>{}, constant<9>{}), axis_of(constant<32>{}, one{})));
}

TEST(layouts, that_are_known_to_the_compiler_have_no_data) {
  EXPECT_LE(sizeof(row_major<8, 64>()), 2u);
  EXPECT_EQ(sizeof(row_major(5, 6, 7)), 3 * sizeof(std::int64_t));
}

TEST(layouts, fit_what_is_a_layout_and_nothing_else) {
  for (auto const& form : {axis_form{}, two_digits.form.rows, two_digits.form.columns,
                           axis_form{}.then(3, 0).then(2, 7).then(4, 1).then(5, 5)})
    EXPECT_EQ(fit_axis(form.size(), [&](std::int64_t i) { return form(i); }), form);
  EXPECT_THROW(fit_axis(6, [](std::int64_t i) { return i * i; }), char const*);
  EXPECT_THROW(fit_axis(7, [](std::int64_t i) { return i == 6 ? 0 : i; }), char const*);
}

TEST(layouts, have_no_more_leaves_than_four_and_no_empty_ones) {
  auto const full = axis_form{}.then(2, 1).then(2, 4).then(2, 16).then(2, 64);
  EXPECT_EQ(full.then(2, 128).size(), 32) << "the last digit counts on";
  EXPECT_THROW((void)full.then(2, 256), char const*);
  EXPECT_THROW((void)axis_form{}.then(0, 1), char const*);
  EXPECT_THROW((void)axis_form{}.then(2, -1), char const*);
  EXPECT_THROW((void)at_run_time(0), char const*);
}

/// The static part: what all offsets are below, and, unless swizzled, the largest of them is just below.
TEST(layouts, span_what_their_offsets_need) {
  auto const check = [](auto const& map, std::int64_t slack) {
    std::int64_t largest = 0;
    for (int r = 0; r < map.extent(axis::rows); ++r)
      for (int c = 0; c < map.extent(axis::columns); ++c) largest = std::max(largest, map({r, c}));
    EXPECT_LT(largest, map.form.span());
    EXPECT_LE(map.form.span() - (largest + 1), slack);
  };
  check(row_major<5, 7, 12>(), 0);
  check(two_digits, 0);
  check(swizzled<swizzle{2, 1, 3}>(row_major<5, 7, 12>()), 7);
  check(swizzled<swizzle{2, 1, -3}>(row_major<5, 7>()), 63);
}

TEST(layouts, reach_offsets_of_more_than_32_bits) {
  std::int64_t const pitch = 1 << 20;
  EXPECT_EQ(row_major(1 << 14, 8, pitch)({1 << 13, 5}), (std::int64_t(1) << 33) + 5);
  EXPECT_EQ((row_major<1 << 14, 1 << 20>()({1 << 13, 5})), (std::int64_t(1) << 33) + 5);
  using small = decltype(row_major<8, 64>());
  EXPECT_TRUE((std::is_same_v<small::offset_type, std::uint32_t>)) << "where it can, the device counts with 32 bits";
}

TEST(layouts, check_claims) {
  EXPECT_EQ(message_of([] { (void)row_major(4, 8, multiple_of<8>{12}); }),
            "tylo: a number is 12, which is no multiple of 8");
  EXPECT_EQ(message_of([] { (void)row_major(-1, 8); }), "tylo: a number is -1, below 0");
  EXPECT_NO_THROW((void)row_major(4, 8, multiple_of<8>{16}));
}

// --- hierarchical coordinates

TEST(digits, of_an_index_and_back) {
  int const five = 5;
  auto const check = [](auto const& axis, std::vector<unsigned> const& extents) {
    unsigned size = 1;
    for (auto const e : extents) size *= e;
    ASSERT_EQ(axis.extent(), size);
    for (unsigned i = 0; i < size; ++i) {
      auto const d = axis.digits_of(i);
      unsigned rest = i;
      for (int k = 0; k < axis_form::most_leaves; ++k) {
        auto const e = static_cast<std::size_t>(k) < extents.size() ? extents[static_cast<std::size_t>(k)] : 1;
        EXPECT_EQ(d.at(k), rest % e) << "digit " << k << " of " << i;
        rest /= e;
      }
      EXPECT_EQ(axis.index_of(d), i);
    }
  };
  check(axis_of(), {});
  check(axis_of(constant<7>{}, constant<3>{}), {7});
  check(two_digits.columns, {5, 3});
  check(axis_of(constant<2>{}, constant<1>{}, five, 7, constant<3>{}, constant<100>{}), {2, 5, 3});
  check(axis_of(five, 1, 3, 9, constant<2>{}, 50, 2, 200), {5, 3, 2, 2});
}

// --- axes

TEST(layouts, keep_addresses_when_axes_are_exchanged) {
  int const pitch = 40;
  auto const check = [](auto const& map) {
    auto const turned = exchanged(map);
    ASSERT_EQ(turned.extent(axis::rows), map.extent(axis::columns));
    ASSERT_EQ(turned.extent(axis::columns), map.extent(axis::rows));
    for (int r = 0; r < map.extent(axis::rows); ++r)
      for (int c = 0; c < map.extent(axis::columns); ++c) EXPECT_EQ(turned({c, r}), map({r, c}));
  };
  check(row_major<5, 7, 9>());
  check(two_digits);
  check(row_major(5, constant<7>{}, multiple_of<8>{pitch}));
  check(swizzled<swizzle{2, 1, 3}>(two_digits));
  check(tiles_of(row_major<4, 6>(), row_major(3, 2)));
}

// --- swizzles

/// By its definition: bit by bit.
std::uint64_t moved(int bits, int base, int shift, std::uint64_t offset) {
  auto result = offset;
  for (int i = 0; i < bits; ++i) {
    int const from = base + i + (shift > 0 ? shift : 0), to = from - shift;
    result ^= (offset >> from & 1) << to;
  }
  return result;
}

template <class F> void for_small_swizzles(F f) {
  for (int bits = 0; bits <= 3; ++bits)
    for (int base = 0; base <= 3; ++base)
      for (int shift = -4; shift <= 4; ++shift) f(swizzle{bits, base, shift});
}

TEST(swizzles, move_offsets_as_defined_one_to_one_and_back) {
  int valid = 0;
  for_small_swizzles([&](swizzle s) {
    constexpr std::uint32_t size = 1u << 11;
    bool undoes_itself = true;
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < size; ++i) {
      auto const to = s(i);
      ASSERT_EQ(to, moved(s.bits, s.base, s.shift, i));
      ASSERT_EQ(s(std::uint64_t{i}), to);
      undoes_itself = undoes_itself && s(to) == i;
      seen.insert(to);
      if (is_valid(s)) {
        EXPECT_EQ(s(i + 3 * static_cast<std::uint32_t>(period(s))), to + 3 * period(s));
        EXPECT_EQ(to / reach(s), i / reach(s));
        EXPECT_EQ(to >> s.base << s.base, s(i >> s.base << s.base)) << "chunks stay together";
      }
    }
    EXPECT_EQ(is_valid(s), undoes_itself && seen.size() == size)
        << s.bits << ' ' << s.base << ' ' << s.shift << ": bijections that undo themselves are what is valid";
    valid += is_valid(s) ? 1 : 0;
  });
  EXPECT_GT(valid, 50);
  EXPECT_FALSE(is_valid({1, 0, 0}));
  EXPECT_FALSE(is_valid({3, 26, 3}));
}

TEST(swizzles, of_the_hardware_move_16_bytes_by_the_row_of_128_bytes) {
  for (int const mode : {32, 64, 128})
    for (int const bytes : {1, 2, 4, 8, 16}) {
      auto const s = hardware_swizzle(mode, bytes);
      EXPECT_TRUE(is_valid(s));
      EXPECT_EQ(period(s) * bytes, 8 * mode);
      for (unsigned i = 0; i < 4096; i += static_cast<unsigned>(bytes)) {
        auto const chunks = static_cast<unsigned>(mode) / 16;
        EXPECT_EQ(s(i / static_cast<unsigned>(bytes)) * static_cast<unsigned>(bytes), i ^ (i / 128 % chunks) * 16);
      }
    }
  EXPECT_THROW((void)hardware_swizzle(256, 2), char const*);
  EXPECT_THROW((void)hardware_swizzle(128, 3), char const*);
  EXPECT_THROW((void)hardware_swizzle(128, 32), char const*);
}

/// Without bank conflicts: eight rows' chunks of one column are in eight different groups of four banks.
TEST(swizzles, spread_a_column_over_the_banks) {
  constexpr auto plain = row_major<8, 64>();
  constexpr auto spread = swizzled<hardware_swizzle(128, 2)>(plain);
  for (int column = 0; column < 64; column += 8) {
    std::set<std::int64_t> groups, groups_of_plain;
    for (int r = 0; r < 8; ++r) {
      groups.insert(spread({r, column}) * 2 / 16 % 8);
      groups_of_plain.insert(plain({r, column}) * 2 / 16 % 8);
    }
    EXPECT_EQ(groups.size(), 8u);
    EXPECT_EQ(groups_of_plain.size(), 1u);
  }
}

TEST(swizzles, of_two_are_one_exactly_where_there_is_one) {
  std::vector<swizzle> all;
  for_small_swizzles([&](swizzle s) {
    if (is_valid(s)) all.push_back(s);
  });
  // A swizzle is linear over bits: what it does to each bit alone is all that it does.
  auto const images = [](auto const& f) {
    std::vector<std::uint64_t> result;
    for (int bit = 0; bit < 12; ++bit) result.push_back(f(std::uint64_t(1) << bit));
    return result;
  };
  std::set<std::vector<std::uint64_t>> known;
  for (auto const& s : all) known.insert(images(s));
  int fitted = 0, unfitted = 0;
  for (auto const& second : all)
    for (auto const& first : all) {
      auto const both = images([&](std::uint64_t i) { return second(first(i)); });
      auto const one = composed(second, first);
      if (one.fits) {
        ++fitted;
        EXPECT_TRUE(is_valid(one.found));
        EXPECT_EQ(images(one.found), both);
      } else {
        ++unfitted;
        EXPECT_EQ(known.count(both), 0u) << "there is one";
      }
    }
  EXPECT_GT(fitted, 100);
  EXPECT_GT(unfitted, 100);
}

TEST(swizzles, of_layouts) {
  constexpr swizzle s{2, 1, 3};
  expect_offsets(swizzled<s>(two_digits), 6, 15,
                 [](int r, int c) { return moved(2, 1, 3, static_cast<std::uint64_t>(two_digits({r, c}))); });
  EXPECT_TRUE(are_one_type(swizzled<s>(swizzled<s>(two_digits)), two_digits));
  auto const big = swizzled<s>(row_major(3, 5, multiple_of<8>{24}));
  expect_offsets(big, 3, 5, [](int r, int c) { return moved(2, 1, 3, static_cast<std::uint64_t>(24 * r + c)); });
}

} // namespace
} // namespace tylo
