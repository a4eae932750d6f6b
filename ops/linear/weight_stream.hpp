#pragma once

/// How `load` and `compute` of `linear` divide weights into spans of the ring. Both decide from the same views.
///
/// A task takes its columns some at a time. For each such group, the rows of the weight are one span, then those of
/// `up` are one, as long as the operand streams; where it does not, `compute` reads it where it lies.

#include <megakernels/ops/device/element.hpp>
#include <megakernels/ops/device/rolled.hpp>
#include <megakernels/ops/linear/linear.hpp>
#include <megakernels/tylo/lane/copy.hpp>

#include <algorithm>

namespace mk::handlers {

/// Whether and how one weight goes through the ring.
struct weight_stream {
  std::uint32_t row_bytes = 0; ///< 0: it does not
  std::uint32_t pages = 0;     ///< of a span: enough for one row

  TYLO_FN bool streams() const { return row_bytes != 0; }
};

template <class Context> TYLO_FN weight_stream stream_of(Context const& context, int slot) {
  if (!context.constant(slot)) return {};
  auto const& weight = context.operand(slot);
  auto const size = element_bytes(weight.type);
  auto const row_bytes = weight.extent(1) * size;
  constexpr std::int64_t most = Context::most_span_pages * Context::page_bytes;
  auto const bits = row_bytes | weight.stride(0) * size | reinterpret_cast<std::intptr_t>(weight.data);
  bool const aligned = bits % tylo::bulk_alignment == 0;
  if (!aligned || weight.stride(1) != 1 || row_bytes == 0 || row_bytes > most) return {};
  auto const bytes = static_cast<std::uint32_t>(row_bytes);
  return {.row_bytes = bytes, .pages = (bytes + Context::page_bytes - 1) / Context::page_bytes};
}

/// A task's columns in groups.
struct weight_groups {
  weight_stream weight;
  weight_stream up;
  std::int64_t begin; ///< columns of the task
  std::int64_t end;
  std::int64_t size; ///< columns at a time, 1 or more
};

template <class Context> TYLO_FN weight_groups groups_of(Context const& context, task const& t) {
  auto const rows_of_span = [](weight_stream s, std::int64_t otherwise) {
    return s.streams() ? std::min<std::int64_t>(s.pages * Context::page_bytes / s.row_bytes, otherwise) : otherwise;
  };
  auto const weight = stream_of(context, linear::weight), up = stream_of(context, linear::up);
  auto const end = std::min(t.column_end, context.operand(linear::y).extent(1));
  auto const all = std::max<std::int64_t>(end - t.column_begin, 1);
  return {.weight = weight,
          .up = up,
          .begin = t.column_begin,
          .end = end,
          .size = rows_of_span(weight, rows_of_span(up, all))};
}

/// The loader's part: rows of one weight, from `column` on.
template <class Context>
TYLO_FN void load_rows(Context& context, int slot, weight_stream s, std::int64_t column, std::uint32_t rows) {
  if (!s.streams()) return;
  auto const& weight = context.operand(slot);
  auto const pitch = weight.stride(0) * element_bytes(weight.type);
  std::byte const* from = weight.at(column);
  auto* to = context.acquire_span(s.pages, rows * s.row_bytes);
  if (pitch == s.row_bytes) return context.copy(to, from, rows * s.row_bytes);
  MK_ROLLED for (; rows > 0; --rows, from += pitch, to += s.row_bytes) context.copy(to, from, s.row_bytes);
}

/// Rows of one weight as the consumers find them.
struct weight_rows {
  std::byte const* first;
  std::int64_t pitch; ///< bytes from row to row
};

/// Waits for the span, if any; `done_with` gives it back.
template <class Context>
TYLO_FN weight_rows await_rows(Context& context, int slot, weight_stream s, std::int64_t column) {
  if (s.streams()) return {context.wait_span(s.pages), s.row_bytes};
  auto const& weight = context.operand(slot);
  if (!weight.present()) return {nullptr, 0};
  return {weight.at(column), weight.stride(0) * element_bytes(weight.type)};
}

template <class Context> TYLO_FN void done_with(Context& context, weight_stream s) {
  if (s.streams()) context.release_span(s.pages);
}

} // namespace mk::handlers
