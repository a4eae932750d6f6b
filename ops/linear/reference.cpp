#include <megakernels/ops/linear/linear.hpp>
#include <megakernels/ops/reference/dot.hpp>
#include <megakernels/ops/reference/exponential.hpp>
#include <megakernels/ops/reference/rows.hpp>

#include <algorithm>
#include <limits>

namespace mk {
namespace {

using reference::dot_columns;
using reference::padded;

/// Columns for which products are kept until the rest of the formula is applied.
constexpr std::int64_t tile_columns = 64;
/// Rows up to which a weight is read from where it lies; over it, it is widened once for all rows. Measured: widening
/// 8-bit numbers costs as much as the product.
constexpr std::int64_t few_rows(data_type weight) { return bytes_of(weight) == 1 ? 1 : 2; }
/// Rows of x that are widened at a time fill about half of a second-level cache.
constexpr std::int64_t row_block_elements = 131072;

/// Rows of x as numbers, each followed by zeros up to `inner`.
template <class A> struct rows_of_x {
  std::span<A const> numbers;
  std::int64_t rows;
  std::int64_t inner;       ///< padded
  std::int64_t inner_exact; ///< elements of a row of x
};

template <class A> void load_padded(tensor_view const& from, std::int64_t row, std::span<A> to) {
  auto const inner = static_cast<std::size_t>(from.extent(1));
  reference::load_row<A>(from.type, from.at(row), from.stride(1), to.first(inner));
  std::fill(to.begin() + static_cast<std::ptrdiff_t>(inner), to.end(), A(0));
}

template <class A> rows_of_x<A> load_x(tensor_view const& x, std::int64_t begin, std::int64_t end) {
  auto const inner = padded(x.extent(1));
  auto const to = reference::scratch<A>((end - begin) * inner);
  if (inner == 0) return {to, end - begin, 0, 0};
  for (auto r = begin; r < end; ++r)
    load_padded<A>(x, r, to.subspan(static_cast<std::size_t>((r - begin) * inner), static_cast<std::size_t>(inner)));
  return {to, end - begin, inner, x.extent(1)};
}

/// out[r * tile_columns + c] = row r of x times row `column + c` of the weight.
template <class A>
void products(rows_of_x<A> const& x, tensor_view const& weight, std::int64_t column, std::int64_t count,
              std::span<A> out) {
  if (x.inner == 0) return std::fill(out.begin(), out.end(), A(0)); // operands may have no address
  if constexpr (std::is_same_v<A, float>) {
    if (x.rows <= few_rows(weight.type) && (weight.stride(1) == 1 || x.inner_exact <= 1)) {
      for (std::int64_t r = 0; r < x.rows; ++r)
        run(reference::dot_stream{.x = x.numbers.data() + r * x.inner,
                                  .type = weight.type,
                                  .weight = weight.at(column),
                                  .row_bytes = weight.stride(0) * bytes_of(weight.type),
                                  .columns = count,
                                  .inner = x.inner_exact,
                                  .out = out.data() + r * tile_columns});
      return;
    }
  }
  auto const panel = reference::scratch<A, 1>(dot_columns * x.inner);
  for (std::int64_t c = 0; c < count; c += dot_columns) {
    for (std::int64_t i = 0; i < dot_columns; ++i) {
      auto const to = panel.subspan(static_cast<std::size_t>(i * x.inner), static_cast<std::size_t>(x.inner));
      if (c + i < count)
        load_padded<A>(weight, column + c + i, to);
      else
        std::fill(to.begin(), to.end(), A(0));
    }
    run(reference::dot_block<A>{.x = x.numbers.data(),
                                .weight = panel.data(),
                                .rows = x.rows,
                                .inner = x.inner,
                                .out = out.data() + c,
                                .out_stride = tile_columns});
  }
}

/// `count` elements of an operand of one axis, or `otherwise` where it is absent.
template <class A, int Slot>
std::span<A const> column_values(tensor_view const& from, std::int64_t column, std::int64_t count, A otherwise) {
  auto const to = reference::scratch<A, Slot>(count);
  if (from.present())
    reference::load_row<A>(from.type, from.at(column), from.stride(0), to);
  else
    std::fill(to.begin(), to.end(), otherwise);
  return to;
}

template <class A> A silu_of(A value) { return value / (1 + reference::exponential(-value)); }

/// One NaN for all, so that bits do not depend on the order in which a compiler puts the operands of a product.
template <class A> A one_nan(A value) { return value == value ? value : std::numeric_limits<A>::quiet_NaN(); }

/// The formula after the products, and the store, for rows from `row` and columns from `column`.
template <class A>
void finish(linear::arguments const& a, std::span<tensor_view const> o, std::int64_t row, std::int64_t rows,
            std::int64_t column, std::int64_t count, std::span<A> product, std::span<A const> up_product) {
  auto const scale = column_values<A, 4>(o[linear::scale], column, count, A(1));
  auto const bias = column_values<A, 5>(o[linear::bias], column, count, A(0));
  auto const up_scale = column_values<A, 6>(o[linear::up_scale], column, count, A(1));
  auto const rest = reference::scratch<A, 7>(count);
  auto const& residual = o[linear::residual];
  auto const& y = o[linear::y];
  auto const size = static_cast<std::size_t>(count);
  for (std::int64_t r = 0; r < rows; ++r) {
    auto const p = product.subspan(static_cast<std::size_t>(r * tile_columns), size);
    for (std::size_t c = 0; c < size; ++c) p[c] = scale[c] * p[c] + bias[c];
    if (a.activation == linear::silu)
      for (std::size_t c = 0; c < size; ++c) p[c] = silu_of(p[c]);
    if (!up_product.empty()) {
      auto const u = up_product.subspan(static_cast<std::size_t>(r * tile_columns), size);
      for (std::size_t c = 0; c < size; ++c) p[c] *= up_scale[c] * u[c];
    }
    if (residual.present()) {
      reference::load_row<A>(residual.type, residual.at(row + r, column), residual.stride(1), rest);
      for (std::size_t c = 0; c < size; ++c) p[c] += rest[c];
    }
    for (std::size_t c = 0; c < size; ++c) p[c] = one_nan(p[c]);
    reference::store_row<A>(y.type, y.at(row + r, column), y.stride(1), p);
  }
}

} // namespace

template <class Accumulate> void linear::reference(arguments const& a, std::span<tensor_view const> o, task const& t) {
  auto const column_end = std::min(t.column_end, o[y].extent(1));
  auto const block =
      std::clamp<std::int64_t>(row_block_elements / std::max<std::int64_t>(padded(o[x].extent(1)), 1), 12, 96);
  for (auto row = t.row_begin; row < t.row_end; row += block) {
    auto const rows = std::min(block, t.row_end - row);
    auto const numbers = load_x<Accumulate>(o[x], row, row + rows);
    auto const product = reference::scratch<Accumulate, 2>(rows * tile_columns);
    std::span<Accumulate> up_product;
    if (o[up].present()) up_product = reference::scratch<Accumulate, 3>(rows * tile_columns);
    for (auto column = t.column_begin; column < column_end; column += tile_columns) {
      auto const count = std::min(tile_columns, column_end - column);
      products<Accumulate>(numbers, o[weight], column, count, product);
      if (o[up].present()) products<Accumulate>(numbers, o[up], column, count, up_product);
      finish<Accumulate>(a, o, row, rows, column, count, product, up_product);
    }
  }
}

template void linear::reference<float>(arguments const&, std::span<tensor_view const>, task const&);
template void linear::reference<double>(arguments const&, std::span<tensor_view const>, task const&);

} // namespace mk
