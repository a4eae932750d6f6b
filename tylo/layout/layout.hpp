#pragma once

/// Where the elements of a tile are in memory: (row, column) -> offset, in elements. It is independent of who holds
/// them in registers.
///
///     tylo::row_major<64, 128>()                                  // all known to the compiler: no data
///     tylo::row_major(rows, constant<4096>{}, multiple_of<8>{pitch})      // some of it known at run time
///     tylo::swizzled<hardware_swizzle(128, 2)>(row_major<8, 64>())
///     tylo::tiles_of(row_major<8, 64>(), column_major<8, 2>())    // 64 x 128: tiles of 8 x 64, one below another
///     tylo::layout_of(axis_of(8, 1, 4, 64), axis_of(...))         // rows as digits of 8 and 4 with their strides
///
/// Each axis has up to 4 leaves, (extent, stride): the digits of the index, the first one fastest, times their strides.

#include <megakernels/tylo/layout/coordinate.hpp>
#include <megakernels/tylo/layout/number.hpp>
#include <megakernels/tylo/layout/swizzle.hpp>
#include <megakernels/tylo/target.hpp>

#include <cstdint>
#include <type_traits>

namespace tylo {

/// One digit of an index: it counts to `extent`, and each count goes on by `stride` elements.
struct axis_leaf {
  number extent;
  number stride;

  constexpr bool is_static() const { return extent.is_static && stride.is_static; }

  friend constexpr bool operator==(axis_leaf const&, axis_leaf const&) = default;
};

/// What the compiler knows of an axis. Canonical: no digit of one value, and no two neighbours, both static, that one
/// digit could say; so that static axes that are the same map are equal.
struct axis_form {
  static constexpr int most_leaves = 4;

  int leaves = 0;
  axis_leaf l0, l1, l2, l3;

  constexpr axis_leaf at(int i) const { return i == 0 ? l0 : i == 1 ? l1 : i == 2 ? l2 : l3; }

  /// One more digit, slower than all others. Not a constant expression where there is no room for it.
  constexpr axis_form then(number extent, number stride) const {
    axis_form result = *this;
    axis_leaf const next{extent, stride};
    if (extent == number{1}) return result;
    if (extent == number{0}) throw "tylo: an axis of no elements";
    if (leaves > 0) {
      auto last = at(leaves - 1);
      if (last.is_static() && next.is_static() && last.extent.value * last.stride.value == stride.value) {
        last.extent.value *= extent.value;
        result.set(leaves - 1, last);
        return result;
      }
    }
    if (leaves == most_leaves) throw "tylo: an axis of more than 4 leaves";
    result.set(result.leaves++, next);
    return result;
  }

  constexpr bool is_static() const { return run_time_numbers() == 0; }

  /// How many numbers of the first `end` leaves are known at run time only. They are kept leaf by leaf, extents first.
  constexpr int run_time_numbers(int end = most_leaves) const {
    int count = 0;
    for (int i = 0; i < end; ++i) count += (at(i).extent.is_static ? 0 : 1) + (at(i).stride.is_static ? 0 : 1);
    return count;
  }

  /// Of a static axis.
  constexpr std::int64_t size() const {
    std::int64_t size = 1;
    for (int i = 0; i < leaves; ++i) size *= at(i).extent.value;
    return size;
  }

  /// Of a static axis: the offset of an index, and the largest of all.
  constexpr std::int64_t operator()(std::int64_t index) const {
    std::int64_t sum = 0;
    for (int i = 0; i < leaves; ++i) {
      auto const extent = at(i).extent.value;
      sum += (i + 1 < leaves ? index % extent : index) * at(i).stride.value;
      index /= extent;
    }
    return sum;
  }
  constexpr std::int64_t last() const { return (*this)(size() - 1); }

  friend constexpr bool operator==(axis_form const&, axis_form const&) = default;

private:
  constexpr void set(int i, axis_leaf l) { (i == 0 ? l0 : i == 1 ? l1 : i == 2 ? l2 : l3) = l; }
};

/// What the compiler knows of a layout: a value that can be a template argument. A swizzle is kept as it was given,
/// also where the offsets are too small for some of its bits.
struct layout_form {
  axis_form rows;
  axis_form columns;
  swizzle swizzled;

  constexpr axis_form along(axis a) const { return a == axis::rows ? rows : columns; }
  constexpr bool is_static() const { return rows.is_static() && columns.is_static(); }

  /// Of a static layout: the elements of memory that it spans.
  constexpr std::int64_t span() const {
    auto const last = rows.last() + columns.last(), block = reach(swizzled);
    return swizzled.bits == 0 ? last + 1 : (last / block + 1) * block;
  }

  friend constexpr bool operator==(layout_form const&, layout_form const&) = default;
};

constexpr layout_form exchanged(layout_form const& f) { return {f.columns, f.rows, f.swizzled}; }

/// The digits of an index in the leaves of an axis; those of leaves that it lacks are 0.
struct digits {
  unsigned d0 = 0, d1 = 0, d2 = 0, d3 = 0;

  TYLO_FN constexpr unsigned at(int i) const { return i == 0 ? d0 : i == 1 ? d1 : i == 2 ? d2 : d3; }

  friend constexpr bool operator==(digits const&, digits const&) = default;
};

namespace detail {
template <int Count> struct run_time_values {
  std::int64_t at[Count];
};
template <> struct run_time_values<0> {};

template <std::int64_t Factor, std::int64_t Value> TYLO_FN constexpr auto times(constant<Value>) {
  return constant<Factor * Value>{};
}
template <std::int64_t Factor, std::int64_t Divisor> TYLO_FN constexpr auto times(multiple_of<Divisor> n) {
  if constexpr (Factor == 0)
    return constant<0>{};
  else
    return multiple_of<Factor * Divisor>{Factor * n.value};
}
} // namespace detail

/// One axis: its form, and the numbers that are known at run time only.
template <axis_form Form> struct axis_layout {
  detail::run_time_values<Form.run_time_numbers()> given;

  /// All that its digits can count.
  TYLO_FN constexpr std::int64_t extent() const { return extent_from<0>(); }

  /// The digits of an index, and the index that has these digits.
  TYLO_FN constexpr digits digits_of(unsigned index) const {
    digits result;
    split<0>(index, result);
    return result;
  }
  TYLO_FN constexpr unsigned index_of(digits d) const { return join<0>(d); }

  /// The offset of an index below the extent.
  template <class Offset> TYLO_FN constexpr Offset offset(unsigned index) const {
    return offset_from<Offset, 0>(index);
  }

  template <int Leaf> TYLO_FN constexpr std::int64_t leaf_extent() const {
    constexpr bool is_static = Form.at(Leaf).extent.is_static;
    constexpr std::int64_t value = Form.at(Leaf).extent.value;
    if constexpr (is_static)
      return value;
    else
      return given.at[Form.run_time_numbers(Leaf)];
  }
  template <int Leaf> TYLO_FN constexpr std::int64_t leaf_stride() const {
    constexpr bool is_static = Form.at(Leaf).stride.is_static;
    constexpr std::int64_t value = Form.at(Leaf).stride.value;
    constexpr int before = Form.at(Leaf).extent.is_static ? 0 : 1;
    if constexpr (is_static)
      return value;
    else
      return given.at[Form.run_time_numbers(Leaf) + before];
  }

  /// The same with what is known of them: a constant or a claimed multiple.
  template <int Leaf> TYLO_FN constexpr auto known_extent() const {
    constexpr bool is_static = Form.at(Leaf).extent.is_static;
    constexpr std::int64_t value = Form.at(Leaf).extent.value;
    if constexpr (is_static)
      return constant<value>{};
    else
      return multiple_of<value>{leaf_extent<Leaf>()};
  }
  template <int Leaf> TYLO_FN constexpr auto known_stride() const {
    constexpr bool is_static = Form.at(Leaf).stride.is_static;
    constexpr std::int64_t value = Form.at(Leaf).stride.value;
    if constexpr (is_static)
      return constant<value>{};
    else
      return multiple_of<value>{leaf_stride<Leaf>()};
  }

  /// One more digit, slower than all others.
  template <layout_number Extent, layout_number Stride>
  TYLO_FN constexpr auto then(Extent extent, Stride stride) const {
    constexpr axis_form longer = Form.then(known_of<Extent>, known_of<Stride>);
    constexpr int have = Form.run_time_numbers(), all = longer.run_time_numbers();
    constexpr bool has_extent = !known_of<Extent>.is_static, has_stride = all - have > (has_extent ? 1 : 0);
    axis_layout<longer> result{};
    if constexpr (have > 0)
      for (int i = 0; i < have; ++i) result.given.at[i] = given.at[i];
    if constexpr (has_extent) result.given.at[have] = numbered(extent).value;
    if constexpr (has_stride) result.given.at[all - 1] = numbered(stride).value;
    return result;
  }

  /// The digits of another axis, slower than these, with `Factor` times their strides.
  template <std::int64_t Factor, int Leaf = 0, axis_form Slower>
  TYLO_FN constexpr auto then_times(axis_layout<Slower> slower) const {
    if constexpr (Leaf == Slower.leaves)
      return *this;
    else
      return then(slower.template known_extent<Leaf>(), detail::times<Factor>(slower.template known_stride<Leaf>()))
          .template then_times<Factor, Leaf + 1>(slower);
  }

private:
  template <int Leaf> TYLO_FN constexpr std::int64_t extent_from() const {
    if constexpr (Leaf == Form.leaves)
      return 1;
    else
      return leaf_extent<Leaf>() * extent_from<Leaf + 1>();
  }

  /// The slowest digit is what is left: nothing is divided by its extent.
  template <class Offset, int Leaf> TYLO_FN constexpr Offset offset_from(unsigned index) const {
    if constexpr (Leaf == Form.leaves) {
      return 0;
    } else if constexpr (Leaf + 1 == Form.leaves) {
      return static_cast<Offset>(index) * static_cast<Offset>(leaf_stride<Leaf>());
    } else {
      auto const extent = static_cast<unsigned>(leaf_extent<Leaf>());
      return static_cast<Offset>(index % extent) * static_cast<Offset>(leaf_stride<Leaf>()) +
             offset_from<Offset, Leaf + 1>(index / extent);
    }
  }

  template <int Leaf> TYLO_FN constexpr void split(unsigned index, digits& to) const {
    if constexpr (Leaf < Form.leaves) {
      constexpr bool is_last = Leaf + 1 == Form.leaves;
      auto const extent = static_cast<unsigned>(leaf_extent<Leaf>());
      auto& digit = Leaf == 0 ? to.d0 : Leaf == 1 ? to.d1 : Leaf == 2 ? to.d2 : to.d3;
      digit = is_last ? index : index % extent;
      if constexpr (!is_last) split<Leaf + 1>(index / extent, to);
    }
  }

  template <int Leaf> TYLO_FN constexpr unsigned join(digits const& d) const {
    if constexpr (Leaf == Form.leaves)
      return 0;
    else
      return d.at(Leaf) + static_cast<unsigned>(leaf_extent<Leaf>()) * join<Leaf + 1>(d);
  }
};

/// (row, column) -> offset in elements: the sum of what the axes say, swizzled.
template <layout_form Form> struct layout {
  static constexpr layout_form form = Form;
  /// 32 bits where they hold every offset.
  static constexpr bool is_small = Form.is_static() && Form.span() < (std::int64_t(1) << 31);
  using offset_type = std::conditional_t<is_small, std::uint32_t, std::uint64_t>;

  axis_layout<Form.rows> rows;
  axis_layout<Form.columns> columns;

  TYLO_FN constexpr std::int64_t extent(axis a) const { return a == axis::rows ? rows.extent() : columns.extent(); }
  TYLO_FN constexpr coordinate extents() const {
    return {static_cast<int>(rows.extent()), static_cast<int>(columns.extent())};
  }

  /// Of an element at not below (0, 0) and not beyond the extents.
  TYLO_FN constexpr std::int64_t operator()(coordinate c) const {
    return static_cast<std::int64_t>(swizzled(before_swizzle(c)));
  }
  TYLO_FN constexpr offset_type before_swizzle(coordinate c) const {
    return rows.template offset<offset_type>(static_cast<unsigned>(c.row)) +
           columns.template offset<offset_type>(static_cast<unsigned>(c.column));
  }
  static TYLO_FN constexpr offset_type swizzled(offset_type offset) {
    if constexpr (Form.swizzled.bits == 0)
      return offset;
    else
      return Form.swizzled(offset);
  }
};

/// An axis from its leaves, the fastest first: extent, stride, extent, stride ...
TYLO_FN constexpr axis_layout<axis_form{}> axis_of() { return {}; }
template <layout_number Extent, layout_number Stride, layout_number... Slower>
TYLO_FN constexpr auto axis_of(Extent extent, Stride stride, Slower... slower) {
  return axis_layout<axis_form{}>{}.then(extent, stride).template then_times<1>(axis_of(slower...));
}

template <axis_form Rows, axis_form Columns>
TYLO_FN constexpr auto layout_of(axis_layout<Rows> rows, axis_layout<Columns> columns) {
  return layout<layout_form{Rows, Columns, {}}>{rows, columns};
}

/// Rows one after another, `pitch` elements from one to the next.
template <layout_number Rows, layout_number Columns, layout_number Pitch>
TYLO_FN constexpr auto row_major(Rows rows, Columns columns, Pitch pitch) {
  return layout_of(axis_of(rows, pitch), axis_of(columns, constant<1>{}));
}
template <layout_number Rows, layout_number Columns> TYLO_FN constexpr auto row_major(Rows rows, Columns columns) {
  return row_major(rows, columns, columns);
}
template <std::int64_t Rows, std::int64_t Columns, std::int64_t Pitch = Columns> TYLO_FN constexpr auto row_major() {
  return row_major(constant<Rows>{}, constant<Columns>{}, constant<Pitch>{});
}

/// The axes change their names: every element keeps its address. The axes are exchanged as they are, with the order of
/// their leaves.
template <layout_form Form> TYLO_FN constexpr auto exchanged(layout<Form> const& l) {
  return layout<exchanged(Form)>{l.columns, l.rows};
}

/// Columns one after another, `pitch` elements from one to the next.
template <layout_number Rows, layout_number Columns, layout_number Pitch>
TYLO_FN constexpr auto column_major(Rows rows, Columns columns, Pitch pitch) {
  return exchanged(row_major(columns, rows, pitch));
}
template <layout_number Rows, layout_number Columns> TYLO_FN constexpr auto column_major(Rows rows, Columns columns) {
  return column_major(rows, columns, rows);
}
template <std::int64_t Rows, std::int64_t Columns, std::int64_t Pitch = Rows> TYLO_FN constexpr auto column_major() {
  return column_major(constant<Rows>{}, constant<Columns>{}, constant<Pitch>{});
}

/// The same elements, each moved by the swizzle: a second one where that makes one with the first.
template <swizzle Swizzle, layout_form Form> TYLO_FN constexpr auto swizzled(layout<Form> const& l) {
  static_assert(is_valid(Swizzle), "tylo: a swizzle that does not undo itself: |shift| < bits, or too many bits");
  constexpr auto both = composed(Swizzle, Form.swizzled);
  static_assert(both.fits, "tylo: these two swizzles, one after the other, are not one swizzle");
  constexpr swizzle found = both.found;
  return layout<layout_form{Form.rows, Form.columns, found}>{l.rows, l.columns};
}

/// Tiles, each laid out as the static `inner` and as long as it spans, one after another as `outer` says, which maps
/// the row and column of a tile to its number. Inner's swizzle stays where whole tiles keep it.
template <layout_form Inner, layout_form Outer>
TYLO_FN constexpr auto tiles_of(layout<Inner> const& inner, layout<Outer> const& outer) {
  static_assert(Inner.is_static(), "tylo: the inner layout of tiles is static");
  static_assert(Outer.swizzled.bits == 0, "tylo: the order of tiles is not swizzled");
  static_assert(
      Inner.swizzled.bits == 0 || Inner.span() % period(Inner.swizzled) == 0,
      "tylo: a tile spans no whole number of the swizzle's periods: the next one would be swizzled otherwise");
  auto const tiles = layout_of(inner.rows.template then_times<Inner.span()>(outer.rows),
                               inner.columns.template then_times<Inner.span()>(outer.columns));
  return swizzled<Inner.swizzled>(tiles);
}

/// The static axis with the offsets f(0) to f(size - 1). Not a constant expression where there is none.
template <class F> constexpr axis_form fit_axis(std::int64_t size, F f) {
  axis_form result;
  for (std::int64_t done = 1; done < size;) {
    std::int64_t const stride = f(done);
    std::int64_t count = 1;
    for (std::int64_t k = 2; k <= size / done && f((k - 1) * done) == (k - 1) * stride; ++k)
      if (size / done % k == 0) count = k;
    if (count == 1) throw "tylo: there is no axis with these offsets";
    result = result.then(count, stride);
    done *= count;
  }
  for (std::int64_t i = 0; i < size; ++i)
    if (result(i) != f(i)) throw "tylo: there is no axis with these offsets";
  return result;
}

namespace detail {
template <axis_form Outer, axis_form Inner>
inline constexpr axis_form composed_axis = fit_axis(Inner.size(), [](std::int64_t i) { return Outer(Inner(i)); });

/// Appends the leaves of `Inner`, with `stride` times their strides.
template <axis_form Inner, int Leaf = 0, axis_form Done, class Stride>
TYLO_FN constexpr auto with_leaves(axis_layout<Done> done, Stride stride) {
  if constexpr (Leaf == Inner.leaves)
    return done;
  else
    return with_leaves<Inner, Leaf + 1>(
        done.then(constant<Inner.at(Leaf).extent.value>{}, times<Inner.at(Leaf).stride.value>(stride)), stride);
}
} // namespace detail

/// What `Inner`, which is static, selects of an axis: its index i is index Inner(i) of `outer`. An outer axis of
/// several leaves is static, and there has to be an axis for the result.
template <axis_form Inner, axis_form Outer> TYLO_FN constexpr auto composed(axis_layout<Outer> const& outer) {
  static_assert(Inner.is_static(), "tylo: what is selected of a layout is static");
  if constexpr (Outer.leaves == 1) {
    static_assert(!Outer.l0.extent.is_static || Inner.last() < Outer.l0.extent.value,
                  "tylo: what is selected of a layout lies outside of it");
    return detail::with_leaves<Inner>(axis_layout<axis_form{}>{}, outer.template known_stride<0>());
  } else {
    static_assert(Outer.is_static() && Inner.last() < Outer.size(),
                  "tylo: what is selected of a layout lies outside of it, or there only at run time");
    return axis_layout<detail::composed_axis<Outer, Inner>>{};
  }
}

/// Of both axes.
template <axis_form Rows, axis_form Columns, layout_form Form>
TYLO_FN constexpr auto composed(layout<Form> const& outer) {
  auto const rows = composed<Rows>(outer.rows);
  auto const columns = composed<Columns>(outer.columns);
  return swizzled<Form.swizzled>(layout_of(rows, columns));
}

} // namespace tylo
