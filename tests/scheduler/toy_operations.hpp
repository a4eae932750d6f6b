#pragma once

/// Operations that only know which boxes they touch: the smallest ones that show what a pass does.

#include <megakernels/ops/operation_list.hpp>

#include <string>
#include <vector>

namespace mk::toy {

struct no_arguments {
  std::int32_t unused = 0;
};

/// y[r, c] from x[r, c].
struct map {
  static constexpr std::string_view name = "map";
  static constexpr std::uint32_t revision = 1;
  using arguments = no_arguments;
  enum : int { x, y };
  static constexpr std::array slots{input("x"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const& q) {
    q.expect_rank(x, 2);
    return {q.make(q[x].type, {{x, 0}, {x, 1}})};
  }
  static work_shape work(arguments const&, std::span<tensor_desc const> o) {
    return {.rows = o[x].extents[0], .columns = o[x].extents[1].capacity};
  }
  static void regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
    r.read(x).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
    r.write(y).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
  }
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const& t) {
    auto const elements =
        static_cast<double>(t.row_end - t.row_begin) * static_cast<double>(t.column_end - t.column_begin);
    return {.bytes = 8 * elements, .operations = elements};
  }
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const>, task const&) {}
};

/// y[r, c] from all of x's row r, and of z's if there is one.
struct mix : map {
  static constexpr std::string_view name = "mix";
  enum : int { x, z, y };
  static constexpr std::array slots{input("x"), optional("z"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const& q) {
    q.expect_rank(x, 2);
    if (q.present(z)) q.expect_same(z, 0, x, 0);
    return {q.make(q[x].type, {{x, 0}, {x, 1}})};
  }
  static void regions(arguments const&, std::span<tensor_desc const> o, task const& t, region_list& r) {
    r.read(x).along(0, t.row_begin, t.row_end);
    if (o[z].rank >= 0) r.read(z).along(0, t.row_begin, t.row_end);
    r.write(y).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
  }
};

/// s[:, c] from x[:, c]; rows are never divided.
struct put : map {
  static constexpr std::string_view name = "put";
  enum : int { x, s };
  static constexpr std::array slots{input("x"), update("s")};

  static std::vector<output_shape> infer(arguments const&, shape_query const& q) {
    q.expect_same(s, 1, x, 1);
    return {};
  }
  static work_shape work(arguments const&, std::span<tensor_desc const> o) {
    return {.rows = o[x].extents[0], .columns = o[x].extents[1].capacity, .rows_divisible = false};
  }
  static void regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
    r.read(x).along(1, t.column_begin, t.column_end);
    r.write(s).along(1, t.column_begin, t.column_end);
  }
};

/// y[r, c] from all of column c of s; x gives the rows.
struct get : map {
  static constexpr std::string_view name = "get";
  enum : int { s, x, y };
  static constexpr std::array slots{input("s"), input("x"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const& q) {
    q.expect_same(s, 1, x, 1);
    return {q.make(q[x].type, {{x, 0}, {x, 1}})};
  }
  static void regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
    r.read(s).along(1, t.column_begin, t.column_end);
    r.read(x).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
    r.write(y).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
  }
};

using list = operation_list<map, mix, put, get>;

} // namespace mk::toy
