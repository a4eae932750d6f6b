#pragma once

/// Tiles in memory: where the elements are, how many of them there are, and what is known of the address.
///
///     auto const weights = tylo::tile_of<16>(pointer, row_major(rows, constant<4096>{}));
///     auto const part = tylo::window<64, 128>(weights, multiple_of<64>{row}, multiple_of<128>{column});
///
/// An alignment is claimed, and holds for every run-time value that keeps its own claim; host code checks all claims.

#include <megakernels/tylo/layout/coordinate.hpp>
#include <megakernels/tylo/layout/layout.hpp>
#include <megakernels/tylo/layout/number.hpp>
#include <megakernels/tylo/layout/ownership.hpp>
#include <megakernels/tylo/target.hpp>

#include <cstdint>
#include <numeric>

namespace tylo {

/// Elements at `pointer` plus what the layout says. `Alignment`, in bytes and a power of two, divides the address, and
/// the way from it to the element (0, 0) before the swizzle as well.
template <class T, layout_form Form, std::int64_t Alignment = std::int64_t{sizeof(T)}> struct tile {
  static_assert(Alignment % std::int64_t{sizeof(T)} == 0 && (Alignment & (Alignment - 1)) == 0,
                "tylo: an alignment is a power of two and not below that of an element");
  using element = T;
  static constexpr layout_form form = Form;
  static constexpr std::int64_t alignment = Alignment;

  T* pointer;
  layout<Form> map;
  coordinate extents;       ///< rows and columns that there are: never more than those of what it was cut from
  std::uint32_t origin = 0; ///< of a swizzled layout: offset of (0, 0) before the swizzle, below the swizzle's period

  TYLO_FN constexpr std::int64_t offset(coordinate c) const {
    using offset_type = typename layout<Form>::offset_type;
    return static_cast<std::int64_t>(map.swizzled(map.before_swizzle(c) + static_cast<offset_type>(origin)));
  }
  TYLO_FN constexpr T* address(coordinate c) const { return pointer + offset(c); }
  TYLO_FN constexpr T& operator()(coordinate c) const { return *address(c); }
  TYLO_FN constexpr bool contains(coordinate c) const {
    return static_cast<unsigned>(c.row) < static_cast<unsigned>(extents.row) &&
           static_cast<unsigned>(c.column) < static_cast<unsigned>(extents.column);
  }
};

/// A tile of all that the layout counts. Host code throws std::invalid_argument where the address does not have the
/// alignment.
template <std::int64_t Alignment, class T, layout_form Form>
TYLO_FN constexpr tile<T, Form, Alignment> tile_of(T* pointer, layout<Form> const& map) {
#if !defined(__CUDA_ARCH__)
  if (!std::is_constant_evaluated())
    check_multiple("the address of a tile", reinterpret_cast<std::int64_t>(pointer), Alignment);
#endif
  return {pointer, map, map.extents()};
}
/// The same with an element's own alignment.
template <class T, layout_form Form> TYLO_FN constexpr auto tile_of(T* pointer, layout<Form> const& map) {
  return tile_of<std::int64_t{sizeof(T)}>(pointer, map);
}

/// The axes change their names: every element keeps its address.
template <class T, layout_form Form, std::int64_t Alignment>
TYLO_FN constexpr auto exchanged(tile<T, Form, Alignment> const& t) {
  return tile<T, exchanged(Form), Alignment>{t.pointer, exchanged(t.map), exchanged(t.extents), t.origin};
}

/// What divides the offset of an index, whatever the run-time numbers are; 0 where the offset is 0.
constexpr std::int64_t offset_divisor(axis_form const& axis, number index) {
  std::int64_t known = 0, divisor = 0; // the static part of the offset, and what divides the rest
  for (int i = 0; i < axis.leaves; ++i) {
    auto const [extent, stride] = axis.at(i);
    number digit = index, rest{0};
    if (i + 1 < axis.leaves) {
      auto const n = extent.value;
      if (index.is_static && index.value < n) {
        // the digit is all of it: an extent known at run time is no less than what divides it
      } else if (index.is_static && extent.is_static) {
        digit = index.value % n;
        rest = index.value / n;
      } else {
        auto const divides = std::gcd(index.value, n);
        digit = extent.is_static && divides == n ? number{0} : at_run_time(divides);
        rest = at_run_time(extent.is_static && index.value % n == 0 ? index.value / n : 1);
      }
    }
    auto const part = digit * stride;
    if (part.is_static)
      known += part.value;
    else
      divisor = std::gcd(divisor, part.value);
    index = rest;
  }
  return std::gcd(known, divisor);
}

/// Whether the offset of `origin + i` is that of `origin` plus that of `i`, for all i below `extent`: no digit of the
/// sum carries into the next leaf.
constexpr bool can_begin_at(axis_form const& axis, number origin, number extent) {
  if (origin == number{0}) return true;
  std::int64_t block = 1; // what the leaves so far count; it divides the origin
  for (int i = 0; i + 1 < axis.leaves; ++i) {
    auto const n = axis.at(i).extent;
    if (!n.is_static) return false;
    if (origin.value % (block * n.value) != 0) {
      auto const digit = origin.value / block; // or what divides it
      auto const room = origin.is_static ? n.value - digit % n.value : std::gcd(digit, n.value);
      return extent.is_static && extent.value <= block * room;
    }
    block *= n.value;
  }
  return true;
}

namespace detail {
/// The part of an axis that counts to some extent: its first `whole` leaves, and `part` of the next one, if any.
struct axis_cut {
  int whole = 0;
  number part{1};
};

/// Of leaves whose extents are known at run time only, nothing is cut but where there is no other.
constexpr axis_cut cut_of(axis_form const& axis, number extent) {
  for (int i = 0; i + 1 < axis.leaves; ++i) {
    auto const n = axis.at(i).extent;
    if (!extent.is_static || !n.is_static) return {axis.leaves, 1};
    if (extent.value <= n.value) return {i, extent};
    extent.value = (extent.value + n.value - 1) / n.value;
  }
  return axis.leaves == 0 ? axis_cut{} : axis_cut{axis.leaves - 1, extent};
}

template <int Leaves, axis_form Axis> TYLO_FN constexpr auto first_leaves(axis_layout<Axis> const& axis) {
  if constexpr (Leaves == 0)
    return axis_layout<axis_form{}>{};
  else
    return first_leaves<Leaves - 1>(axis).then(axis.template known_extent<Leaves - 1>(),
                                               axis.template known_stride<Leaves - 1>());
}

template <axis_form Axis, class Extent>
TYLO_FN constexpr auto cut(axis_layout<Axis> const& axis, [[maybe_unused]] Extent extent) {
  constexpr axis_cut to = cut_of(Axis, known_of<Extent>);
  constexpr int whole = to.whole;
  constexpr std::int64_t part = to.part.value;
  auto const leaves = first_leaves<whole>(axis);
  if constexpr (whole == Axis.leaves)
    return leaves;
  else if constexpr (known_of<Extent>.is_static)
    return leaves.then(constant<part>{}, axis.template known_stride<whole>());
  else
    return leaves.then(extent, axis.template known_stride<whole>());
}

template <std::int64_t Alignment, class T, layout_form Form>
TYLO_FN constexpr tile<T, Form, Alignment> aligned_tile(T* pointer, layout<Form> const& map, coordinate extents,
                                                        std::uint32_t origin) {
  return {pointer, map, extents, origin};
}

TYLO_FN constexpr int clamped(int wanted, int left) {
  auto const least = wanted < left ? wanted : left;
  return least < 0 ? 0 : least;
}
} // namespace detail

/// `rows` x `columns` elements of a tile from (row, column) on, or as many of them as there are. What is known of the
/// origin tells what is left of the alignment. On an axis of several leaves the window has to lie inside the blocks
/// that they form: there the extent is static, and the origin a static one or a multiple of what divides the block. The
/// window's layout may count further than the window goes.
template <class T, layout_form Form, std::int64_t Alignment, layout_number Row, layout_number Column,
          layout_number Rows, layout_number Columns>
TYLO_FN constexpr auto window(tile<T, Form, Alignment> const& t, Row row, Column column, Rows rows, Columns columns) {
  constexpr bool fits = can_begin_at(Form.rows, known_of<Row>, known_of<Rows>) &&
                        can_begin_at(Form.columns, known_of<Column>, known_of<Columns>);
  static_assert(fits, "tylo: this window may cross blocks of its tile's layout: its extents must be static, and its "
                      "origin a multiple of what keeps it inside of one");
  constexpr std::int64_t divisor =
      std::gcd(offset_divisor(Form.rows, known_of<Row>), offset_divisor(Form.columns, known_of<Column>));
  constexpr std::int64_t aligned = std::gcd(Alignment, divisor * std::int64_t{sizeof(T)});

  coordinate const first{static_cast<int>(numbered(row).value), static_cast<int>(numbered(column).value)};
  coordinate const left = t.extents - first;
  coordinate const extents{detail::clamped(static_cast<int>(numbered(rows).value), left.row),
                           detail::clamped(static_cast<int>(numbered(columns).value), left.column)};
  auto const map =
      swizzled<Form.swizzled>(layout_of(detail::cut(t.map.rows, rows), detail::cut(t.map.columns, columns)));
  auto const offset = t.map.before_swizzle(first) + t.origin;
  if constexpr (Form.swizzled.bits == 0) {
    return detail::aligned_tile<aligned>(t.pointer + offset, map, extents, 0);
  } else {
    constexpr auto inside = static_cast<std::uint32_t>(period(Form.swizzled) - 1);
    auto const origin = static_cast<std::uint32_t>(offset) & inside;
    return detail::aligned_tile<aligned>(t.pointer + (offset - origin), map, extents, origin);
  }
}

/// The same with extents known to the compiler.
template <std::int64_t Rows, std::int64_t Columns, class T, layout_form Form, std::int64_t Alignment, layout_number Row,
          layout_number Column>
TYLO_FN constexpr auto window(tile<T, Form, Alignment> const& t, Row row, Column column) {
  return window(t, row, column, constant<Rows>{}, constant<Columns>{});
}

namespace detail {
/// Whether runs of `length` that begin at multiples of it are neighbours in memory: each lies inside of the first leaf.
constexpr bool has_runs(axis_form const& axis, int length) {
  return axis.leaves > 0 && axis.l0.stride == number{1} && axis.l0.extent.value % length == 0;
}

/// The places along an axis of an ownership's threads and slots, each once: what two of them add up to is all that the
/// elements have.
template <int Most> struct places {
  int count = 0;
  int at[Most] = {};

  constexpr void add(int place) {
    for (int i = 0; i < count; ++i)
      if (at[i] == place) return;
    at[count++] = place;
  }
};

/// Whether slots are runs of `length` neighbours along an axis, and each begins, for every thread, where both axes'
/// offsets are multiples of `length`.
template <ownership O> constexpr bool is_plan(layout_form const& form, axis along, int length) {
  constexpr auto& table = table_of<O>;
  if (O.slots() % length != 0 || !has_runs(form.along(along), length)) return false;
  for (int s = 0; s < O.slots(); ++s)
    if (!(table.slot[s] == table.slot[s - s % length] + step_along(along, s % length))) return false;
  for (axis const a : {axis::rows, axis::columns}) {
    places<O.threads()> threads;
    places<O.slots()> slots;
    for (auto const& t : table.thread) threads.add(t.along(a));
    for (int s = 0; s < O.slots(); s += length) slots.add(table.slot[s].along(a));
    for (int i = 0; i < threads.count; ++i)
      for (int k = 0; k < slots.count; ++k) {
        int const place = threads.at[i] + slots.at[k];
        if (a == along && place % length != 0) return false;
        if (offset_divisor(form.along(a), place) % length != 0) return false;
      }
  }
  return true;
}
} // namespace detail

/// How many neighbouring slots of an ownership one access moves: as many as have 16, 8 or 4 bytes, or one. With a tile
/// of this form and alignment, or any window of one that has the form and the alignment, slots s to s + v - 1 (v being
/// the result, and s a multiple of it) of each thread are neighbours in memory, and begin at a multiple of their size.
/// They may begin inside of the tile's extents and end outside.
template <ownership O, layout_form Form, std::int64_t Alignment, int ElementBytes>
inline constexpr int vector_elements = [] {
  for (int bytes = 16; bytes >= 4; bytes /= 2) {
    int const length = bytes / ElementBytes;
    bool const stays_together = Form.swizzled.bits == 0 || length <= 1 << Form.swizzled.base;
    if (length > 1 && Alignment % bytes == 0 && stays_together &&
        (detail::is_plan<O>(Form, axis::columns, length) || detail::is_plan<O>(Form, axis::rows, length)))
      return length;
  }
  return 1;
}();

} // namespace tylo
