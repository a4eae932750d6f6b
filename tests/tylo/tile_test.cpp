/// Windows against the elements of the tiles that they are cut from; alignments and vector plans against addresses with
/// random numbers that keep their claims.

#include <megakernels/tylo/layout/tile.hpp>
#include <megakernels/tylo/numbers.hpp>

#include "message.hpp"
#include "shapes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace tylo {
namespace {

namespace shapes = mk::test::shapes;

template <std::int64_t N> using k = constant<N>;

std::mt19937 random_numbers(7);
int random_below(int limit) { return static_cast<int>(random_numbers() % static_cast<unsigned>(limit)); }

template <class T> struct alignas(1024) memory {
  T elements[8192];
};

/// What a tile's alignment says.
template <class T, layout_form Form, std::int64_t Alignment> bool is_aligned(tile<T, Form, Alignment> const& t) {
  auto const bytes = static_cast<std::int64_t>(sizeof(T));
  return reinterpret_cast<std::int64_t>(t.pointer) % Alignment == 0 && t.origin * bytes % Alignment == 0;
}

/// The window's elements are those of the tile from the origin on, as many as there are; its alignment is true.
template <class Tile, class Window>
void expect_window(Tile const& t, Window const& w, coordinate origin, coordinate wanted) {
  auto const left = t.extents - origin;
  ASSERT_EQ(w.extents.row, std::max(0, std::min(wanted.row, left.row)));
  ASSERT_EQ(w.extents.column, std::max(0, std::min(wanted.column, left.column)));
  for (int r = 0; r < w.extents.row; ++r)
    for (int c = 0; c < w.extents.column; ++c)
      ASSERT_EQ(w.address({r, c}), t.address(origin + coordinate{r, c}))
          << "(" << r << ", " << c << ") of a window at (" << origin.row << ", " << origin.column << ")";
  EXPECT_TRUE(is_aligned(w));
}

template <class Tile> constexpr std::int64_t alignment_of(Tile const&) { return Tile::alignment; }

// --- tiles

TEST(tiles, are_their_layout_from_an_address_on) {
  memory<float> m;
  auto const t = tile_of<16>(m.elements + 4, row_major(3, k<5>{}, multiple_of<4>{8}));
  EXPECT_EQ(t.address({2, 3}), m.elements + 4 + 19);
  t({2, 3}) = 7;
  EXPECT_EQ(m.elements[23], 7);
  EXPECT_EQ(alignment_of(t), 16);
  EXPECT_EQ(alignment_of(tile_of(m.elements + 1, row_major<2, 2>())), 4);
  for (int r = -1; r <= 3; ++r)
    for (int c = -1; c <= 5; ++c) EXPECT_EQ(t.contains({r, c}), r >= 0 && r < 3 && c >= 0 && c < 5);
}

TEST(tiles, check_their_alignment) {
  memory<bf16> m;
  EXPECT_NO_THROW((void)tile_of<16>(m.elements + 8, row_major<4, 4>()));
  auto const message = message_of([&] { (void)tile_of<16>(m.elements + 4, row_major<4, 4>()); });
  auto const address = std::to_string(reinterpret_cast<std::int64_t>(m.elements + 4));
  EXPECT_EQ(message, "tylo: the address of a tile is " + address + ", which is no multiple of 16");
}

TEST(tiles, keep_addresses_when_axes_are_exchanged) {
  memory<float> m;
  auto const t = window(tile_of<64>(m.elements, swizzled<swizzle{2, 2, 3}>(row_major<16, 32>())), 3, 5, 20, 9);
  auto const turned = exchanged(t);
  ASSERT_EQ(turned.extents.row, 9);
  ASSERT_EQ(turned.extents.column, 13);
  for (int r = 0; r < 13; ++r)
    for (int c = 0; c < 9; ++c) EXPECT_EQ(turned.address({c, r}), t.address({r, c}));
}

// --- windows

TEST(windows, at_any_origin_of_strided_layouts) {
  memory<float> m;
  for (int round = 0; round < 300; ++round) {
    int const rows = 1 + random_below(20), columns = 1 + random_below(30), pitch = columns + random_below(8);
    auto const check = [&](auto const& t) {
      coordinate const at{random_below(24), random_below(34)}, size{1 + random_below(12), 1 + random_below(12)};
      auto const w = window(t, at.row, at.column, size.row, size.column);
      expect_window(t, w, at, size);
      expect_window(t, window<6, 5>(t, at.row, at.column), at, {6, 5});
      coordinate const inside{random_below(6), random_below(6)};
      expect_window(w, window<4, 4>(w, inside.row, inside.column), inside, {4, 4});
      expect_window(t, window<4, 4>(w, inside.row, inside.column), at + inside,
                    {std::min(4, size.row - inside.row), std::min(4, size.column - inside.column)});
    };
    check(tile_of<64>(m.elements, row_major(rows, columns, pitch)));
    check(tile_of<64>(m.elements, column_major(rows, columns, rows + 3)));
    check(tile_of<64>(m.elements, row_major(rows, k<40>{})));
    check(tile_of<64>(m.elements, row_major<19, 31, 35>()));
    check(tile_of<64>(m.elements, swizzled<hardware_swizzle(128, 4)>(row_major<24, 32>())));
    check(tile_of<64>(m.elements, swizzled<swizzle{2, 1, -3}>(row_major(rows, columns, pitch))));
  }
}

TEST(windows, inside_blocks_of_hierarchical_layouts) {
  memory<float> m;
  // 32 x 48: tiles of 8 x 16, with leaves of 4 and 2 rows inside of them.
  auto const inner =
      layout_of(axis_of(k<4>{}, k<16>{}, k<2>{}, k<1>{}), axis_of(k<2>{}, k<2>{}, k<4>{}, k<4>{}, k<2>{}, k<64>{}));
  auto const tiles = tiles_of(inner, row_major<4, 3>());
  auto const check = [](auto const& t) {
    for (int r = 0; r < 32; r += 8)
      for (int c = 0; c < 48; c += 16) {
        expect_window(t, window<8, 16>(t, multiple_of<8>{r}, multiple_of<16>{c}), {r, c}, {8, 16});
        expect_window(t, window<4, 8>(t, multiple_of<4>{r + 4}, multiple_of<8>{c + 8}), {r + 4, c + 8}, {4, 8});
        expect_window(t, window<7, 11>(t, multiple_of<8>{r}, multiple_of<16>{c}), {r, c}, {7, 11});
        // Whole tiles, as many as come.
        expect_window(t, window(t, multiple_of<8>{r}, multiple_of<16>{c}, 21, k<40>{}), {r, c}, {21, 40});
      }
    expect_window(t, window<3, 6>(t, k<9>{}, k<18>{}), {9, 18}, {3, 6});
    expect_window(t, window<100, 100>(t, k<0>{}, k<16>{}), {0, 16}, {100, 100});
    auto const half = window<16, 48>(t, multiple_of<16>{16}, k<0>{});
    expect_window(t, window<2, 16>(half, multiple_of<2>{6}, k<32>{}), {22, 32}, {2, 16});
  };
  check(tile_of<64>(m.elements, tiles));
  check(tile_of<64>(m.elements, swizzled<hardware_swizzle(64, 4)>(tiles)));
}

TEST(windows, inside_of_blocks_are_told_from_others) {
  // 2 x 3 x many
  auto const axis = axis_form{}.then(2, 1).then(3, 10).then(at_run_time(), 100);
  for (int origin = 0; origin < 24; ++origin)
    for (int extent = 1; extent < 14; ++extent) {
      auto const offset = [](int i) { return i % 2 + i / 2 % 3 * 10 + i / 6 * 100; };
      bool is_true = true;
      for (int i = 0; i < extent; ++i) is_true = is_true && offset(origin + i) == offset(origin) + offset(i);
      EXPECT_EQ(can_begin_at(axis, origin, extent), is_true) << origin << ' ' << extent;
    }
  // What is claimed of an origin holds for all of its multiples.
  for (int claim = 1; claim < 24; ++claim)
    for (int extent = 1; extent < 14; ++extent) {
      bool all = true;
      for (int origin = 0; origin < 200; origin += claim) all = all && can_begin_at(axis, origin, extent);
      EXPECT_EQ(can_begin_at(axis, at_run_time(claim), extent), all) << claim << ' ' << extent;
      EXPECT_EQ(can_begin_at(axis, at_run_time(claim), at_run_time()), claim % 6 == 0);
    }
}

TEST(windows, keep_of_an_alignment_what_is_true) {
  memory<bf16> m;
  int const pitch = 64 * 3, row = 12, column = 16, plain = 5;
  auto const t = tile_of<256>(m.elements, row_major(40, pitch, multiple_of<64>{pitch}));
  auto const aligned = [&](auto r, auto c) { return alignment_of(window<4, 4>(t, r, c)); };
  EXPECT_EQ(aligned(k<0>{}, k<0>{}), 256) << "nothing moves";
  EXPECT_EQ(aligned(row, k<0>{}), 128) << "a row is a multiple of 64 elements";
  EXPECT_EQ(aligned(multiple_of<4>{row}, k<0>{}), 256) << "four rows are one of 256, the tile is at no more";
  EXPECT_EQ(aligned(row, multiple_of<16>{column}), 32);
  EXPECT_EQ(aligned(k<3>{}, k<12>{}), 8);
  EXPECT_EQ(aligned(row, plain), 2) << "nothing is known but that elements have their own";
  EXPECT_EQ(alignment_of(window<4, 4>(window<8, 8>(t, row, k<8>{}), row, k<16>{})), 16) << "what was lost stays lost";
  EXPECT_EQ(message_of([&] { (void)aligned(row, multiple_of<16>{24}); }),
            "tylo: a number is 24, which is no multiple of 16");
  EXPECT_EQ(message_of([&] { (void)aligned(-1, 0); }), "tylo: a number is -1, below 0");

  auto const tiles = tile_of<256>(m.elements, tiles_of(row_major<8, 64>(), row_major(4, 2)));
  EXPECT_EQ(alignment_of(window<8, 64>(tiles, multiple_of<8>{8}, multiple_of<64>{64})), 256) << "a tile is 1024 bytes";
  EXPECT_EQ(alignment_of(window<2, 64>(tiles, multiple_of<2>{6}, k<0>{})), 256);
  EXPECT_EQ(alignment_of(window<1, 16>(tiles, row, multiple_of<16>{32})), 32);

  auto const spread = tile_of<1024>(m.elements, swizzled<hardware_swizzle(128, 2)>(row_major<64, 64>()));
  EXPECT_EQ(alignment_of(window<8, 16>(spread, multiple_of<8>{8}, k<0>{})), 1024);
  EXPECT_EQ(alignment_of(window<8, 16>(spread, multiple_of<8>{8}, multiple_of<16>{16})), 32);
}

/// An axis with numbers in place of those known at run time only: small random multiples of what is claimed.
axis_form with_numbers(axis_form const& known) {
  auto const number_for = [](number n) { return n.is_static ? n.value : n.value * (1 + random_below(5)); };
  axis_form result{known.leaves, {}, {}, {}, {}};
  for (int i = 0; i < known.leaves; ++i) {
    auto const [extent, stride] = known.at(i);
    axis_leaf const leaf{number_for(extent), number_for(stride)};
    (i == 0 ? result.l0 : i == 1 ? result.l1 : i == 2 ? result.l2 : result.l3) = leaf;
  }
  return result;
}

TEST(windows, of_any_numbers_begin_at_multiples_of_what_divides_their_origin) {
  auto const rt = [](std::int64_t multiple = 1) { return at_run_time(multiple); };
  std::vector<axis_form> const axes{
      axis_form{},
      axis_form{}.then(8, 3),
      axis_form{}.then(rt(), rt(6)),
      axis_form{}.then(4, 1).then(6, 16),
      axis_form{}.then(4, 1).then(6, rt(16)).then(rt(), 128),
      axis_form{}.then(rt(4), 2).then(3, rt(8)),
      axis_form{}.then(2, rt(12)).then(rt(3), 8).then(rt(), rt(20)),
  };
  for (auto const& axis : axes)
    for (int i = 0; i < 24; ++i)
      for (bool const is_static : {true, false}) {
        if (!is_static && i == 0) continue;
        auto const claimed = offset_divisor(axis, is_static ? number{i} : rt(i));
        std::int64_t found = 0; // what divides all offsets that were seen
        for (int round = 0; round < 200; ++round) {
          auto const numbers = with_numbers(axis);
          auto const index = is_static ? i : i * random_below(20);
          auto const offset = axis.leaves == 0 ? 0 : numbers(index);
          EXPECT_EQ(claimed == 0 ? offset : offset % claimed, 0) << "index " << index;
          found = std::gcd(found, offset);
        }
        bool const is_all_known = (is_static && axis.is_static()) || axis.leaves == 1;
        if (is_all_known) {
          EXPECT_EQ(claimed, found) << "more is true: index " << i;
        }
      }
}

// --- vector plans

/// Whether runs of `length` slots lie one element after another and begin at multiples of their size, and inside or
/// outside of the tile as a whole: for some numbers.
template <ownership O>
bool runs_are_vectors(int length, axis_form const& rows, axis_form const& columns, swizzle s, std::int64_t address,
                      std::int64_t bytes) {
  auto const address_of = [&](coordinate c) {
    auto const offset = static_cast<std::uint64_t>((rows.leaves == 0 ? 0 : rows(c.row)) +
                                                   (columns.leaves == 0 ? 0 : columns(c.column)));
    return address + static_cast<std::int64_t>(s(offset)) * bytes;
  };
  auto const is_inside = [&](coordinate c) { return c.row < rows.size() && c.column < columns.size(); };
  if (O.slots() % length != 0) return false;
  for (unsigned t = 0; t < static_cast<unsigned>(O.threads()); ++t)
    for (int s0 = 0; s0 < O.slots(); s0 += length) {
      auto const first = O(t, static_cast<unsigned>(s0));
      if (address_of(first) % (length * bytes) != 0) return false;
      for (int j = 1; j < length; ++j) {
        auto const c = O(t, static_cast<unsigned>(s0 + j));
        if (address_of(c) != address_of(first) + j * bytes || is_inside(c) != is_inside(first)) return false;
      }
    }
  return true;
}

/// The plan holds for all numbers, and no longer one does.
template <ownership O, layout_form Form, std::int64_t Alignment, int Bytes> void expect_plan(int expected) {
  constexpr int planned = vector_elements<O, Form, Alignment, Bytes>;
  EXPECT_EQ(planned, expected);
  for (int length : {16 / Bytes, 8 / Bytes, 4 / Bytes, 1}) {
    if (length < 1 || (length != planned && length < planned)) continue;
    bool holds = true;
    for (int round = 0; round < 60; ++round) {
      auto const rows = with_numbers(Form.rows), columns = with_numbers(Form.columns);
      std::int64_t const address = Alignment * (2 * random_below(50) + 1);
      holds = holds && runs_are_vectors<O>(length, rows, columns, Form.swizzled, address, Bytes);
    }
    EXPECT_EQ(holds, length == planned) << "runs of " << length;
  }
}

template <class Layout> constexpr layout_form form_of(Layout const&) { return Layout::form; }

/// 16 x 64: of each of four rows 8 neighbours.
constexpr ownership eights{{16, 64}, steps(8, {0, 8}).then(4, {1, 0}), steps(8, {0, 1}).then(4, {4, 0})};
constexpr auto fours_down = exchanged(eights);

constexpr layout_form with_pitch(number pitch, number columns = 64) {
  return {axis_form{}.then(at_run_time(), pitch), axis_form{}.then(columns, 1), {}};
}

TEST(vector_plans, are_as_wide_as_alignment_and_pitch) {
  expect_plan<eights, with_pitch(64), 16, 2>(8);
  expect_plan<eights, with_pitch(64), 1024, 2>(8);
  expect_plan<eights, with_pitch(64), 8, 2>(4);
  expect_plan<eights, with_pitch(64), 4, 2>(2);
  expect_plan<eights, with_pitch(64), 2, 2>(1);
  expect_plan<eights, with_pitch(at_run_time(8)), 16, 2>(8);
  expect_plan<eights, with_pitch(at_run_time(4)), 16, 2>(4);
  expect_plan<eights, with_pitch(at_run_time(6)), 16, 2>(2);
  expect_plan<eights, with_pitch(at_run_time()), 16, 2>(1);
  expect_plan<eights, with_pitch(68), 16, 2>(4);
  expect_plan<eights, with_pitch(67), 16, 2>(1);
}

TEST(vector_plans, are_of_16_8_or_4_bytes_or_of_one_element) {
  expect_plan<eights, with_pitch(64), 16, 1>(8);
  expect_plan<eights, with_pitch(66), 16, 1>(1);
  expect_plan<eights, with_pitch(64), 16, 4>(4);
  expect_plan<eights, with_pitch(66), 16, 4>(2);
  expect_plan<eights, with_pitch(64), 16, 8>(2);
  expect_plan<eights, with_pitch(64), 16, 16>(1);
}

TEST(vector_plans, leave_no_run_over_the_end_of_a_row) {
  expect_plan<eights, with_pitch(64, at_run_time(8)), 16, 2>(8);
  expect_plan<eights, with_pitch(64, at_run_time(4)), 16, 2>(4);
  expect_plan<eights, with_pitch(64, at_run_time()), 16, 2>(1);
  expect_plan<eights, with_pitch(64, 60), 16, 2>(4);
}

TEST(vector_plans, go_along_the_axis_of_unit_stride) {
  constexpr auto columns = form_of(column_major<64, 32>());
  expect_plan<eights, columns, 16, 2>(1);
  expect_plan<fours_down, columns, 16, 2>(8);
  expect_plan<fours_down, with_pitch(64), 16, 2>(1);
  expect_plan<eights, form_of(layout_of(axis_of(k<16>{}, k<128>{}), axis_of(k<64>{}, k<2>{}))), 16, 2>(1);
}

TEST(vector_plans, need_neighbours_in_neighbouring_slots) {
  expect_plan<shapes::mma_c, with_pitch(64), 16, 4>(2);
  expect_plan<shapes::mma_c, with_pitch(64), 16, 2>(2);
  expect_plan<shapes::mma_a, with_pitch(64), 16, 1>(1);
  expect_plan<shapes::mma_b, with_pitch(64), 16, 2>(1);
  expect_plan<shapes::mma_b, form_of(column_major<16, 8>()), 16, 2>(2);
  expect_plan<shapes::local_rows, with_pitch(64), 16, 2>(8);
  expect_plan<shapes::striped_row, form_of(row_major<1, 512>()), 16, 4>(4);
  expect_plan<shapes::many_rows, with_pitch(64), 16, 4>(1);
  expect_plan<shapes::wgmma_256, form_of(row_major<64, 256>()), 16, 4>(2);
  expect_plan<shapes::wgmma_256, form_of(row_major<64, 256>()), 16, 2>(2);
  constexpr ownership shifted{{8, 32}, steps(8, {1, 0}).then(4, {0, 6}), steps(4, {0, 1})};
  expect_plan<shifted, with_pitch(64), 16, 4>(2); // threads begin at columns 0, 6, 12, 18
}

TEST(vector_plans, keep_the_chunks_of_a_swizzle) {
  constexpr auto plain = row_major<16, 64>();
  expect_plan<eights, form_of(swizzled<hardware_swizzle(128, 2)>(plain)), 1024, 2>(8);
  expect_plan<eights, form_of(swizzled<swizzle{3, 2, 4}>(plain)), 1024, 2>(4);
  expect_plan<eights, form_of(swizzled<swizzle{3, 1, 5}>(plain)), 1024, 2>(2);
  expect_plan<eights, form_of(swizzled<swizzle{3, 0, 6}>(plain)), 1024, 2>(1);
}

TEST(vector_plans, see_through_leaves) {
  // Columns as blocks: a run stays in one.
  auto const blocks = [](auto block, auto pitch) {
    return layout_form{axis_form{}.then(16, 8), axis_form{}.then(block, 1).then(at_run_time(), pitch), {}};
  };
  expect_plan<eights, blocks(8, 128), 16, 2>(8);
  expect_plan<eights, blocks(4, 128), 16, 2>(4);
  expect_plan<eights, blocks(8, at_run_time(4)), 16, 2>(4);
  expect_plan<eights, blocks(at_run_time(8), at_run_time(8)), 16, 2>(8);
  expect_plan<eights, blocks(at_run_time(4), at_run_time(8)), 16, 2>(4);
  // A run that begins at a good offset, and leaves its block.
  constexpr ownership fives{{1, 16}, steps(2, {0, 5}), steps(4, {0, 1})};
  expect_plan<fives, {axis_form{}, axis_form{}.then(4, 1).then(4, 3), {}}, 16, 4>(1);
  // Rows as blocks: only some of the offsets between them count.
  constexpr layout_form even_rows{axis_form{}.then(2, 4).then(8, 64), axis_form{}.then(64, 1), {}};
  expect_plan<eights, even_rows, 16, 2>(4);
  constexpr ownership every_other{{16, 64}, steps(8, {2, 0}).then(4, {0, 8}), steps(8, {0, 1}).then(2, {0, 32})};
  expect_plan<every_other, even_rows, 16, 2>(8); // row digits 0 of the first leaf alone
}

TEST(vector_plans, hold_in_windows) {
  memory<bf16> m;
  auto const check = [](auto const& w, int expected) {
    using tile_type = std::remove_cvref_t<decltype(w)>;
    constexpr int v = vector_elements<eights, tile_type::form, tile_type::alignment, 2>;
    EXPECT_EQ(v, expected);
    for (unsigned t = 0; t < static_cast<unsigned>(eights.threads()); ++t)
      for (unsigned s = 0; s < static_cast<unsigned>(eights.slots()); s += v) {
        auto const* const first = w.address(eights(t, s));
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(first) % (2 * v), 0u);
        for (unsigned j = 0; j < v; ++j) ASSERT_EQ(first + j, w.address(eights(t, s + j)));
      }
  };
  int const row = 5;
  auto const strided = tile_of<16>(m.elements, row_major(60, 100, multiple_of<8>{104}));
  check(window<16, 64>(strided, row, multiple_of<8>{24}), 8);
  check(window<16, 64>(strided, row, multiple_of<4>{20}), 4);
  check(window<16, 64>(strided, row, k<18>{}), 2);
  check(window<16, 64>(strided, row, 24), 1);
  check(window<16, 60>(strided, row, multiple_of<8>{24}), 4);

  auto const spread = tile_of<1024>(m.elements, swizzled<hardware_swizzle(128, 2)>(row_major<64, 128>()));
  check(window<16, 64>(spread, row, multiple_of<8>{24}), 8);
  check(window<16, 64>(spread, row, multiple_of<4>{20}), 4);
  check(window<16, 64>(spread, k<3>{}, k<1>{}), 1);
}

} // namespace
} // namespace tylo
