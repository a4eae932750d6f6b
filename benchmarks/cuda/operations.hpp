#pragma once

/// Operations with next to no work, to measure what a task, an edge and the ring cost. Their device side is in
/// handlers.hpp; they run on a GPU only.

#include <megakernels/ops/error.hpp>
#include <megakernels/ops/operation_list.hpp>

namespace mk::bench {

/// A task that does as little as it is told to.
struct tick {
  static constexpr std::string_view name = "tick";
  static constexpr std::uint32_t revision = 1;

  static constexpr std::int32_t rest = 0;  ///< nothing; y keeps what it holds
  static constexpr std::int32_t count = 1; ///< y[r, c] = x[r, c] + 1
  static constexpr std::int32_t stamp = 2; ///< y[r, c] = the device's clock, nanoseconds modulo 2^32

  struct arguments {
    std::int32_t what = rest;
  };

  enum : int { x, y };
  static constexpr std::array slots{input("x"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const& q) {
    q.expect_rank(x, 2);
    q.expect_type(x, {data_type::int32});
    return {q.make(data_type::int32, {{x, 0}, {x, 1}})};
  }
  static work_shape work(arguments const&, std::span<tensor_desc const> o) {
    return {.rows = o[x].extents[0], .columns = o[x].extents[1].capacity};
  }
  static void regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
    r.read(x).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
    r.write(y).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
  }
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const& t) {
    auto const elements = static_cast<double>((t.row_end - t.row_begin) * (t.column_end - t.column_begin));
    return {.bytes = 8 * elements, .operations = elements};
  }
  template <class> static void reference(arguments const&, std::span<tensor_view const>, task const&) {
    throw error("tick has no reference: it runs on a GPU only");
  }
};

/// Reads rows of x through the ring, all of a task's rows `laps` times over. x is a constant, int32 [rows, words] with
/// rows of whole pages; y int32 [rows, 2]: y[r, 0] = the device's clock when the row was last read, nanoseconds modulo
/// 2^32; y[r, 1] = the sum of the row over all laps, modulo 2^32.
struct stream_rows {
  static constexpr std::string_view name = "stream_rows";
  static constexpr std::uint32_t revision = 1;

  struct arguments {
    std::int32_t laps = 1;
  };

  enum : int { x, y };
  static constexpr std::array slots{input("x"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const& q) {
    q.expect_rank(x, 2);
    q.expect_type(x, {data_type::int32});
    auto result = q.make(data_type::int32, {{x, 0}, {x, 1}});
    result.desc.extents[1] = {.capacity = 2};
    result.axes[1] = "time and sum";
    set_dense_strides(result.desc);
    return {result};
  }
  static work_shape work(arguments const&, std::span<tensor_desc const> o) { return {.rows = o[x].extents[0]}; }
  static void regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
    r.read(x).along(0, t.row_begin, t.row_end);
    r.write(y).along(0, t.row_begin, t.row_end);
  }
  static cost cost_of(arguments const& a, std::span<tensor_desc const> o, task const& t) {
    auto const words = static_cast<double>((t.row_end - t.row_begin) * o[x].extents[1].capacity * a.laps);
    return {.bytes = 4 * words, .operations = words};
  }
  template <class> static void reference(arguments const&, std::span<tensor_view const>, task const&) {
    throw error("stream_rows has no reference: it runs on a GPU only");
  }
};

using probe_list = operation_list<tick, stream_rows>;

} // namespace mk::bench
