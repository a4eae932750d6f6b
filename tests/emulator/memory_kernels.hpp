#pragma once

/// Fragments through tiles in memory, in kernels that the emulator and a GPU both run: a load from one tile, and a
/// store to another that is laid out alike. A case is a type, an ownership, and a place: how the tile lies in memory,
/// and, by plain arithmetic for the host, where each of its elements is.

#include <megakernels/tylo/fragment/memory.hpp>

#include "fragment_kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mk::test {

/// What is known at run time only: the rows and columns of a tile in memory, and where a window of it begins.
struct tile_numbers {
  int rows = 0, columns = 0, pitch = 0;
  int row = 0, column = 0;
};
constexpr tile_numbers exchanged(tile_numbers const& n) { return {n.columns, n.rows, n.pitch, n.column, n.row}; }

constexpr std::size_t as_size(int n) { return static_cast<std::size_t>(n); }

// --- places: of rows that lie `pitch` apart

/// Global memory. The pitch is a multiple of Pitch, a window begins at multiples of Row and Column.
template <int Pitch, int Row, int Column, int Alignment> struct rows_apart {
  static constexpr bool in_shared = false;
  static constexpr int alignment = Alignment;

  template <ownership O, class T> static TYLO_FN auto tile(T* memory, tile_numbers const& n) {
    auto const map = tylo::row_major(n.rows, n.columns, tylo::multiple_of<Pitch>{n.pitch});
    return tylo::window<O.shape.row, O.shape.column>(
        tylo::tile_of<Alignment>(memory, map), tylo::multiple_of<Row>{n.row}, tylo::multiple_of<Column>{n.column});
  }

  /// A tile that ends so many rows and columns after a window's origin; `turn` makes another one.
  template <ownership O> static tile_numbers numbers(int rows, int columns, int turn) {
    tile_numbers n{.row = Row * (turn % 4), .column = Column * (turn % 3)};
    n.rows = n.row + rows;
    n.columns = n.column + columns;
    n.pitch = (n.columns + Pitch - 1 + Pitch * (turn % 2)) / Pitch * Pitch;
    return n;
  }
  template <ownership O, class T> static constexpr std::size_t elements(tile_numbers const& n) {
    return n.rows == 0 ? 0 : as_size(n.rows - 1) * as_size(n.pitch) + as_size(n.columns);
  }
  template <ownership O, class T> static std::size_t offset(tile_numbers const& n, int row, int column) {
    return as_size(n.row + row) * as_size(n.pitch) + as_size(n.column + column);
  }
};

/// The whole of a tile of columns with nothing between them: no window.
struct columns_together {
  static constexpr bool in_shared = false;
  static constexpr int alignment = 16;

  template <ownership O, class T> static TYLO_FN auto tile(T* memory, tile_numbers const& n) {
    return tylo::tile_of<16>(memory, tylo::column_major(tylo::multiple_of<4>{n.rows}, n.columns));
  }
  template <ownership O> static tile_numbers numbers(int rows, int columns, int) {
    return {.rows = (rows + 3) / 4 * 4, .columns = columns};
  }
  template <ownership O, class T> static constexpr std::size_t elements(tile_numbers const& n) {
    return as_size(n.rows) * as_size(n.columns);
  }
  template <ownership O, class T> static std::size_t offset(tile_numbers const& n, int row, int column) {
    return as_size(column) * as_size(n.rows) + as_size(row);
  }
};

// --- places: in layouts known to the compiler

/// Layouts of a tile of Rows x Columns, and where an element of it is.
struct dense_rows {
  template <int Rows, int Columns, class T> static TYLO_FN auto of() { return tylo::row_major<Rows, Columns>(); }
  static std::size_t offset(std::size_t, std::size_t columns, std::size_t, std::size_t row, std::size_t column) {
    return row * columns + column;
  }
};

/// Blocks of 4 x 8, columns together in each; blocks of a row lie together.
struct blocks {
  template <int Rows, int Columns, class T> static TYLO_FN auto of() {
    return tylo::tiles_of(tylo::column_major<4, 8>(), tylo::row_major<Rows / 4, Columns / 8>());
  }
  static std::size_t offset(std::size_t, std::size_t columns, std::size_t, std::size_t row, std::size_t column) {
    return (row / 4 * (columns / 8) + column / 8) * 32 + column % 8 * 4 + row % 4;
  }
};

/// Tiles of 8 rows of 16 bytes, one below another.
struct chunks {
  template <int Rows, int Columns, class T> static TYLO_FN auto of() {
    constexpr int width = 16 / int(sizeof(T));
    return tylo::tiles_of(tylo::row_major<8, width>(), tylo::column_major<Rows / 8, Columns / width>());
  }
  static std::size_t offset(std::size_t rows, std::size_t, std::size_t bytes, std::size_t row, std::size_t column) {
    auto const width = 16 / bytes;
    return column / width * rows * width + row * width + column % width;
  }
};

/// Tiles of 8 rows of Bytes, swizzled as the hardware does it, one below another.
template <int Bytes> struct swizzled_rows {
  template <int Rows, int Columns, class T> static TYLO_FN auto of() {
    constexpr int width = Bytes / int(sizeof(T));
    constexpr auto mode = tylo::hardware_swizzle(Bytes, sizeof(T));
    return tylo::tiles_of(tylo::swizzled<mode>(tylo::row_major<8, width>()),
                          tylo::column_major<Rows / 8, Columns / width>());
  }
  static std::size_t offset(std::size_t rows, std::size_t, std::size_t bytes, std::size_t row, std::size_t column) {
    auto const width = Bytes / bytes, chunk = 16 / bytes, count = width / chunk;
    auto const moved = (column % width / chunk) ^ (row % 8 * count / 8);
    return column / width * rows * width + row * width + moved * chunk + column % chunk;
  }
};

/// Rows whose pairs of elements are swizzled: what lies together is shorter than a vector could be.
struct swizzled_pairs {
  template <int Rows, int Columns, class T> static TYLO_FN auto of() {
    return tylo::swizzled<tylo::swizzle{2, 1, 3}>(tylo::row_major<Rows, Columns>());
  }
  static std::size_t offset(std::size_t, std::size_t columns, std::size_t, std::size_t row, std::size_t column) {
    auto const plain = row * columns + column;
    return plain ^ (plain / 16 % 4 * 2);
  }
};

/// A window at (Row, Column), which the compiler knows, or of which it knows that they are multiples of that.
template <class Layout, bool InShared, int Row = 0, int Column = 0, bool OriginIsKnown = true> struct fixed {
  static constexpr bool in_shared = InShared;
  static constexpr int alignment = InShared ? 1024 : 16;
  static constexpr int turns = OriginIsKnown ? 1 : 2; ///< how far from (0, 0) a window can begin

  template <ownership O, class T> static TYLO_FN auto tile(T* memory, tile_numbers const& n) {
    constexpr int rows = O.shape.row + turns * Row, columns = O.shape.column + turns * Column;
    auto all = tylo::tile_of<alignment>(memory, Layout::template of<rows, columns, T>());
    all.extents = {n.rows, n.columns};
    if constexpr (OriginIsKnown)
      return tylo::window<O.shape.row, O.shape.column>(all, tylo::constant<Row>{}, tylo::constant<Column>{});
    else
      return tylo::window<O.shape.row, O.shape.column>(all, tylo::multiple_of<Row>{n.row},
                                                       tylo::multiple_of<Column>{n.column});
  }

  template <ownership O> static tile_numbers numbers(int rows, int columns, int turn) {
    int const row = OriginIsKnown ? Row : Row * (turn % 3), column = OriginIsKnown ? Column : Column * (turn % 3);
    return {.rows = std::min(row + rows, O.shape.row + turns * Row),
            .columns = std::min(column + columns, O.shape.column + turns * Column),
            .row = row,
            .column = column};
  }
  template <ownership O, class T> static constexpr std::size_t elements(tile_numbers const&) {
    return as_size(O.shape.row + turns * Row) * as_size(O.shape.column + turns * Column);
  }
  template <ownership O, class T> static std::size_t offset(tile_numbers const& n, int row, int column) {
    return Layout::offset(as_size(O.shape.row + turns * Row), as_size(O.shape.column + turns * Column), sizeof(T),
                          as_size(n.row + row), as_size(n.column + column));
  }
};

/// A place with its axes exchanged.
template <class Place> struct turned {
  static constexpr bool in_shared = Place::in_shared;
  static constexpr int alignment = Place::alignment;

  template <ownership O, class T> static TYLO_FN auto tile(T* memory, tile_numbers const& n) {
    return exchanged(Place::template tile<exchanged(O)>(memory, {n.columns, n.rows, n.pitch, n.column, n.row}));
  }
  template <ownership O> static tile_numbers numbers(int rows, int columns, int turn) {
    return exchanged(Place::template numbers<exchanged(O)>(columns, rows, turn));
  }
  template <ownership O, class T> static constexpr std::size_t elements(tile_numbers const& n) {
    return Place::template elements<exchanged(O), T>(exchanged(n));
  }
  template <ownership O, class T> static std::size_t offset(tile_numbers const& n, int row, int column) {
    return Place::template offset<exchanged(O), T>(exchanged(n), column, row);
  }
};

// --- cases

struct as_the_cache_likes {
  static TYLO_FN auto policy() { return tylo::any_policy{}; }
};
template <bool LeavesFirst> struct cached {
  static TYLO_FN auto policy() { return tylo::cache_policy(LeavesFirst); }
};

/// Memory around a tile that nothing may touch. Its end is no more aligned than the place says.
template <class T, class Place>
inline constexpr std::size_t elements_before = (1024 + as_size(Place::alignment)) / sizeof(T);
template <class T> inline constexpr std::size_t elements_behind = 1024 / sizeof(T);

/// Loads, writes what each thread has in its slots, and stores. Vector is how many elements one access moves.
template <class T, ownership O, class Place, int Vector, class Edge = tylo::any_vectors,
          class Cache = as_the_cache_likes, class Setup = usual_group<O>>
struct memory_case : Setup {
  using place = Place;
  using edge = Edge;
  using element = T;
  using output = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>; // std::vector<bool> has no elements
  using tile = decltype(Place::template tile<O>(static_cast<T*>(nullptr), tile_numbers{}));
  static constexpr ownership owned = O;
  static constexpr int vector = tylo::vector_elements<O, tile::form, tile::alignment, int(sizeof(T))>;
  static_assert(vector == Vector);
  static constexpr axis along = tylo::detail::vector_axis<O, vector>;
  static constexpr std::size_t outputs = O.threads() * O.slots();

  /// From the start of its memory on: what comes before a tile, its elements, and what is behind.
  static constexpr std::size_t elements(tile_numbers const& n) {
    return elements_before<T, Place> + Place::template elements<O, T>(n) + elements_behind<T>;
  }
  static constexpr std::size_t shared_elements = [] {
    if constexpr (Place::in_shared)
      return (elements({}) * sizeof(T) + 1023) / 1024 * 1024 / sizeof(T);
    else
      return 0;
  }();
  static constexpr std::size_t shared_bytes = 2 * shared_elements * sizeof(T);

  struct arguments {
    T const* from;
    T* to;
    unsigned char const* readable; ///< of `from`: for each element whether it was written
    tile_numbers numbers;
    T outside;
    output* out;
  };

  static TYLO_FN void run(arguments const& g) {
    if (!Setup::takes_part()) return;
    auto const group = Setup::group();
    if constexpr (Place::in_shared) {
      auto* const from = reinterpret_cast<T*>(tylo::shared_memory());
      auto* const to = from + shared_elements;
      constexpr auto count = static_cast<unsigned>(elements({}));
      for (auto i = group.rank(); i < count; i += group.threads) {
        if (g.readable[i] != 0) from[i] = g.from[i];
        to[i] = g.to[i];
      }
      group.sync();
      through(group, from, to, g);
      group.sync();
      for (auto i = group.rank(); i < count; i += group.threads) g.to[i] = to[i];
    } else {
      through(group, g.from, g.to, g);
    }
  }

private:
  template <class G> static TYLO_FN void through(G const& group, T const* from, T* to, arguments const& g) {
    constexpr std::size_t before = elements_before<T, Place>;
    auto const f = tylo::load<O>(group, Place::template tile<O>(from + before, g.numbers), g.outside, Edge{});
    write_slots(g.out, f, group.rank());
    tylo::store(group, Place::template tile<O>(to + before, g.numbers), f, Edge{}, Cache::policy());
  }
};

namespace shapes {
inline constexpr auto bytes_in_rows = tylo::local<axis::columns>(16);
inline constexpr auto long_rows = tylo::local<axis::columns>(32);
inline constexpr auto chunks_of_a_row = tylo::striped<axis::columns>(3, 8);
inline constexpr auto sums_of_rows = tylo::reduced<wgmma_64, axis::columns>;
inline constexpr auto sums_of_columns = tylo::reduced<wgmma_64, axis::rows>;
inline constexpr auto sums_of_patches = tylo::reduced<patches, axis::columns>;
/// A thread has each of its elements twice.
inline constexpr ownership equal_slots{{32, 4}, steps(32, {1, 0}), steps(4, {0, 1}).then(2, {0, 0})};
} // namespace shapes

/// Each thread has neighbours of a row.
using row_cases = case_list<memory_case<float, shapes::local_rows, rows_apart<4, 1, 4, 16>, 4>,
                            memory_case<float, shapes::local_rows, rows_apart<2, 1, 2, 8>, 2>,
                            memory_case<float, shapes::local_rows, rows_apart<1, 1, 1, 4>, 1>,
                            memory_case<float, shapes::local_rows, rows_apart<4, 1, 1, 16>, 1>,
                            memory_case<std::int32_t, shapes::local_rows, rows_apart<6, 1, 4, 16>, 2>,
                            memory_case<tylo::bf16, shapes::local_rows, rows_apart<8, 1, 8, 16>, 8>,
                            memory_case<tylo::bf16, shapes::local_rows, rows_apart<8, 1, 4, 16>, 4>,
                            memory_case<tylo::fp16, shapes::local_rows, rows_apart<2, 1, 2, 4>, 2>,
                            memory_case<std::uint16_t, shapes::local_rows, rows_apart<4, 1, 4, 16>, 4>,
                            memory_case<std::uint8_t, shapes::bytes_in_rows, rows_apart<16, 1, 16, 16>, 16>,
                            memory_case<tylo::e4m3, shapes::local_rows, rows_apart<8, 1, 8, 8>, 8>,
                            memory_case<bool, shapes::local_rows, rows_apart<4, 1, 4, 4>, 4>,
                            memory_case<double, shapes::local_rows, rows_apart<2, 1, 2, 16>, 2>,
                            memory_case<std::int64_t, shapes::local_columns, turned<rows_apart<1, 1, 1, 8>>, 1>,
                            memory_case<float, shapes::local_columns, rows_apart<4, 1, 4, 16>, 1>,
                            memory_case<float, shapes::striped_row, rows_apart<4, 1, 4, 16>, 4>,
                            memory_case<float, shapes::striped_column, turned<rows_apart<2, 1, 2, 8>>, 2>,
                            memory_case<float, shapes::striped_column, rows_apart<4, 1, 4, 16>, 1>,
                            memory_case<tylo::e5m2, shapes::long_row, rows_apart<4, 1, 4, 16>, 4>,
                            memory_case<float, shapes::many_rows, rows_apart<1, 1, 1, 4>, 1>,
                            memory_case<float, shapes::striped_column, columns_together, 2>,
                            memory_case<std::int32_t, shapes::one_each, rows_apart<1, 1, 1, 4>, 1>>;

/// Factors and sums of products.
using product_cases = case_list<memory_case<std::uint16_t, shapes::mma_a, rows_apart<2, 1, 2, 16>, 2>,
                                memory_case<tylo::bf16, shapes::mma_b, turned<rows_apart<2, 1, 2, 4>>, 2>,
                                memory_case<tylo::bf16, shapes::mma_b, rows_apart<8, 8, 8, 16>, 1>,
                                memory_case<std::int64_t, shapes::mma_c, rows_apart<2, 2, 2, 16>, 2>,
                                memory_case<float, shapes::wide_c, rows_apart<4, 1, 2, 16>, 2>,
                                memory_case<float, shapes::wgmma_64, rows_apart<2, 8, 8, 16>, 2>,
                                memory_case<tylo::bf16, shapes::c_2x2, rows_apart<2, 1, 2, 4>, 2>,
                                memory_case<double, shapes::c_1x3, turned<rows_apart<1, 1, 1, 8>>, 1>,
                                memory_case<float, shapes::c_3x1, turned<columns_together>, 2>,
                                memory_case<float, shapes::patches, turned<rows_apart<2, 1, 2, 8>>, 2>,
                                memory_case<float, shapes::turned_patches, rows_apart<2, 1, 2, 8>, 2>>;

/// Elements with several owners.
using replica_cases = case_list<memory_case<float, shapes::replicated_rows, rows_apart<4, 1, 4, 16>, 4>,
                                memory_case<tylo::bf16, shapes::mixed_lanes, rows_apart<2, 1, 2, 4>, 2>,
                                memory_case<float, shapes::equal_warps, rows_apart<1, 1, 1, 4>, 1>,
                                memory_case<float, shapes::equal_pairs, rows_apart<2, 1, 2, 8>, 2>,
                                memory_case<double, shapes::pairs_of_equals, rows_apart<2, 1, 2, 16>, 2>,
                                memory_case<float, shapes::sums_of_rows, rows_apart<1, 1, 1, 4>, 1>,
                                memory_case<float, shapes::sums_of_columns, rows_apart<4, 1, 2, 16>, 2>,
                                memory_case<float, shapes::sums_of_patches, turned<rows_apart<2, 1, 2, 8>>, 2>,
                                memory_case<tylo::e4m3, shapes::equal_slots, rows_apart<4, 1, 4, 16>, 4>>;

/// Layouts known to the compiler.
using fixed_cases =
    case_list<memory_case<tylo::bf16, shapes::mma_a, fixed<swizzled_rows<32>, true>, 2>,
              memory_case<tylo::bf16, shapes::bytes_in_rows, fixed<swizzled_rows<32>, true>, 8>,
              memory_case<float, shapes::long_rows, fixed<swizzled_rows<128>, true>, 4>,
              memory_case<tylo::fp16, shapes::wgmma_64, fixed<swizzled_rows<128>, true>, 2>,
              memory_case<float, shapes::wgmma_64, fixed<swizzled_rows<128>, true>, 2>,
              memory_case<std::uint8_t, shapes::long_rows, fixed<swizzled_rows<32>, true>, 16>,
              memory_case<double, shapes::local_rows, fixed<swizzled_rows<64>, true>, 2>,
              memory_case<float, shapes::local_rows, fixed<swizzled_rows<128>, true, 8, 24>, 4>,
              memory_case<float, shapes::local_rows, fixed<swizzled_rows<64>, true, 8, 4, false>, 4>,
              memory_case<float, shapes::local_rows, fixed<swizzled_pairs, true>, 2>,
              memory_case<tylo::bf16, shapes::mma_b, turned<fixed<swizzled_rows<32>, true>>, 2>,
              memory_case<float, shapes::c_2x2, fixed<blocks, true>, 1>,
              memory_case<float, shapes::striped_column, turned<fixed<dense_rows, true>>, 2>,
              memory_case<float, shapes::local_rows, fixed<blocks, false, 8, 8>, 1>,
              memory_case<tylo::bf16, tiled(shapes::patches, {2, 4}), fixed<blocks, false, 8, 8, false>, 2>,
              memory_case<tylo::bf16, shapes::bytes_in_rows, fixed<chunks, true>, 8>,
              memory_case<tylo::e4m3, shapes::bytes_in_rows, fixed<chunks, false, 8, 16, false>, 16>,
              memory_case<float, shapes::local_rows, fixed<dense_rows, false, 3, 8>, 4>,
              memory_case<float, shapes::local_rows, fixed<dense_rows, false, 1, 2, false>, 2>>;

/// What the caller knows, and who calls.
using special_cases = case_list<
    memory_case<tylo::bf16, shapes::chunks_of_a_row, rows_apart<8, 1, 8, 16>, 8, tylo::whole_vectors>,
    memory_case<float, shapes::local_rows, rows_apart<4, 1, 4, 16>, 4, tylo::whole_vectors>,
    memory_case<float, shapes::local_rows, rows_apart<1, 1, 1, 4>, 1, tylo::whole_vectors>,
    memory_case<float, shapes::wgmma_64, fixed<swizzled_rows<128>, true>, 2, tylo::whole_vectors>,
    memory_case<double, shapes::patches, turned<rows_apart<2, 1, 2, 16>>, 2, tylo::whole_vectors>,
    memory_case<float, shapes::long_row, rows_apart<4, 1, 4, 16>, 4, tylo::whole_vectors, cached<true>>,
    memory_case<tylo::bf16, shapes::chunks_of_a_row, rows_apart<8, 1, 8, 16>, 8, tylo::any_vectors, cached<false>>,
    memory_case<double, shapes::local_rows, rows_apart<1, 1, 1, 8>, 1, tylo::any_vectors, cached<true>>,
    memory_case<float, shapes::mma_c, rows_apart<2, 1, 2, 8>, 2, tylo::any_vectors, cached<true>>,
    memory_case<float, shapes::c_4x1, rows_apart<2, 1, 2, 8>, 2, tylo::any_vectors, as_the_cache_likes, some_warps<4>>,
    memory_case<float, shapes::c_4x1, fixed<chunks, true>, 2, tylo::any_vectors, as_the_cache_likes, some_warps<4>>,
    memory_case<float, shapes::long_row, rows_apart<4, 1, 4, 16>, 4, tylo::any_vectors, as_the_cache_likes,
                two_ctas<128>>>;

} // namespace mk::test
