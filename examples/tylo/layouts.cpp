/// Layouts, swizzles, tiles and windows: what docs/tylo/layouts.md says of them, printed.

#include <megakernels/tylo/layout/draw.hpp>
#include <megakernels/tylo/layout/tile.hpp>
#include <megakernels/tylo/numbers.hpp>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <type_traits>

namespace {

using tylo::axis;
using tylo::constant;
using tylo::coordinate;
using tylo::multiple_of;

bool all_right = true;

void expect(bool condition, char const* what) {
  if (condition) return;
  std::printf("WRONG: %s\n", what);
  all_right = false;
}

void coordinates() {
  // [coordinates]
  constexpr coordinate c{3, 5};
  static_assert(c.along(axis::columns) == 5);
  static_assert(c + step_along(axis::columns, 2) == coordinate{3, 7});
  static_assert(exchanged(c) == coordinate{5, 3});
  static_assert(collapsed(c, axis::columns) == coordinate{3, 0}); // what is left of it in a sum over columns
  // [/coordinates]
}

void offsets() {
  int const pitch = 8;
  // [offsets]
  auto const map = tylo::row_major(4, 6, pitch);
  std::printf("(2, 5) is at %d\n", static_cast<int>(map({2, 5})));
  std::fputs(text_of(tylo::picture_of(map)).c_str(), stdout);
  // [/offsets]
}

void numbers() {
  int const rows = 100, pitch = 4096;
  // [numbers]
  constexpr auto known = tylo::row_major<64, 128>();
  auto const mixed = tylo::row_major(rows, constant<4096>{}, multiple_of<8>{pitch});
  // [/numbers]
  static_assert(decltype(known)::form.is_static());
  std::printf("\nkept at run time: %d numbers\n", static_cast<int>(sizeof mixed / sizeof(std::int64_t)));
  // [claim]
  try {
    (void)tylo::row_major(rows, constant<100>{}, multiple_of<8>{100});
  } catch (std::invalid_argument const& e) {
    std::puts(e.what());
  }
  // [/claim]
}

void leaves() {
  // [leaves]
  // 12 rows as digits of 4 and 3: those of a block of 4 are 8 apart, blocks are 100 apart.
  constexpr auto rows = tylo::axis_of(constant<4>{}, constant<8>{}, constant<3>{}, constant<100>{});
  constexpr auto map = tylo::layout_of(rows, tylo::axis_of(constant<8>{}, constant<1>{}));
  static_assert(rows.digits_of(6) == tylo::digits{2, 1});
  static_assert(rows.index_of({2, 1}) == 6);
  static_assert(map({6, 5}) == 2 * 8 + 1 * 100 + 5);
  // [/leaves]

  // [tiles]
  constexpr auto tiles = tylo::tiles_of(tylo::row_major<4, 4>(), tylo::column_major<2, 3>());
  static_assert(tiles.extents() == coordinate{8, 12});
  static_assert(tiles({5, 6}) == (1 + 2 * 1) * 16 + 1 * 4 + 2); // tile (1, 1) is number 3; in it row 1, column 2
  // [/tiles]

  // [equal]
  constexpr auto blocks = tylo::tiles_of(tylo::row_major<4, 8>(), tylo::row_major<3, 1>());
  static_assert(std::is_same_v<decltype(blocks), decltype(tylo::row_major<12, 8>()) const>);
  // [/equal]

  // [composed]
  constexpr auto even_rows = tylo::axis_form{}.then(6, 2), all_columns = tylo::axis_form{}.then(8, 1);
  constexpr auto half = tylo::composed<even_rows, all_columns>(tylo::row_major<12, 8>());
  static_assert(std::is_same_v<decltype(half), decltype(tylo::row_major<6, 8, 16>()) const>);
  // [/composed]
}

// [banks]
/// In how many of the eight groups of four banks the 16-byte chunks of a column are, eight rows of bf16.
template <class Layout> std::size_t groups_of_banks(Layout const& map, int column) {
  std::set<std::int64_t> groups;
  for (int row = 0; row < 8; ++row) groups.insert(map({row, column}) * 2 / 16 % 8);
  return groups.size();
}

void swizzles() {
  constexpr auto plain = tylo::row_major<8, 64>();
  constexpr auto spread = tylo::swizzled<tylo::hardware_swizzle(128, 2)>(plain);
  std::printf("\nchunks of a column: in %zu group of banks, swizzled in %zu\n", groups_of_banks(plain, 16),
              groups_of_banks(spread, 16));
}
// [/banks]

void more_swizzles() {
  // [swizzle]
  constexpr auto s = tylo::hardware_swizzle(128, 2);
  static_assert(s == tylo::swizzle{.bits = 3, .base = 3, .shift = 3});
  static_assert(s(std::uint32_t{1 * 64 + 16}) == 1 * 64 + 24); // row 1, chunk 2: it goes to chunk 2 ^ 1
  static_assert(s(s(std::uint32_t{1234})) == 1234);
  static_assert(period(s) == 8 * 64); // eight rows of 128 bytes
  // [/swizzle]
}

// [windows]
template <class Tile> void tell(char const* name, Tile const& t) {
  std::printf("%-10s %2d x %2d, at a multiple of %3d bytes\n", name, t.extents.row, t.extents.column,
              static_cast<int>(Tile::alignment));
}

void windows(tylo::bf16* pointer, int row, int column) {
  auto const all = tylo::tile_of<128>(pointer, tylo::row_major(40, 100, multiple_of<64>{128}));
  tell("all", all);
  tell("rows", tylo::window<16, 100>(all, row, constant<0>{}));
  tell("claimed", tylo::window<16, 16>(all, row, multiple_of<16>{column}));
  tell("unclaimed", tylo::window<16, 16>(all, row, column));
  tell("at the end", tylo::window<16, 16>(all, constant<32>{}, constant<96>{}));
}
// [/windows]

void windows_of_tiles(tylo::bf16* pointer, int row) {
  // [blocks]
  auto const tiles = tylo::tile_of<128>(pointer, tylo::tiles_of(tylo::row_major<8, 64>(), tylo::row_major<4, 2>()));
  auto const one = tylo::window<8, 64>(tiles, multiple_of<8>{row}, constant<64>{});  // a whole tile
  auto const part = tylo::window<4, 16>(tiles, multiple_of<4>{row}, constant<16>{}); // inside of one
  // [/blocks]
  expect(one.address({2, 3}) == tiles.address({row + 2, 67}), "a window of a tile");
  expect(part.address({2, 3}) == tiles.address({row + 2, 19}), "a window of a part");
}

void exchange(tylo::bf16* pointer) {
  // [exchange]
  auto const t = tylo::tile_of(pointer, tylo::row_major<6, 10, 12>());
  auto const turned = exchanged(t); // 10 x 6
  expect(turned.address({7, 2}) == t.address({2, 7}), "elements keep their addresses");
  // [/exchange]
}

// [plans]
/// 16 x 64: each of 32 threads has 8 neighbours in each of four rows.
constexpr tylo::ownership eights{
    {16, 64}, tylo::steps(8, {0, 8}).then(4, {1, 0}), tylo::steps(8, {0, 1}).then(4, {4, 0})};

template <tylo::ownership O, class Tile> void tell_width(char const* name, Tile const&) {
  std::printf("%-22s %d\n", name, tylo::vector_elements<O, Tile::form, Tile::alignment, 2>);
}

void plans(tylo::bf16* pointer, int pitch) {
  auto const rows_of = [=](auto p) { return tylo::tile_of<16>(pointer, tylo::row_major(16, constant<64>{}, p)); };
  tell_width<eights>("pitch 64", rows_of(constant<64>{}));
  tell_width<eights>("pitch 68", rows_of(constant<68>{}));
  tell_width<eights>("a multiple of 8", rows_of(multiple_of<8>{pitch}));
  tell_width<eights>("any pitch", rows_of(pitch));
  tell_width<eights>("columns not known", tylo::tile_of<16>(pointer, tylo::row_major(16, 64, constant<64>{})));
  tell_width<eights>("8 bytes", tylo::tile_of<8>(pointer, tylo::row_major<16, 64>()));
  tell_width<eights>("columns in memory", tylo::tile_of<16>(pointer, tylo::column_major<16, 64>()));
  tell_width<exchanged(eights)>("and exchanged threads", tylo::tile_of<16>(pointer, tylo::column_major<64, 16>()));
}
// [/plans]

} // namespace

int main() {
  alignas(128) static tylo::bf16 elements[64 * 128];
  coordinates();
  offsets();
  numbers();
  leaves();
  swizzles();
  more_swizzles();
  std::puts("");
  windows(elements, 5, 16);
  windows_of_tiles(elements, 8);
  exchange(elements);
  std::puts("");
  plans(elements, 64);
  return all_right ? 0 : 1;
}
