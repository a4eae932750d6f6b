#pragma once

/// Operations for the tests of the runtime: small enough to be repeated by a plain loop, or with effects that real
/// operations should not have.

#include <megakernels/ops/error.hpp>
#include <megakernels/ops/operation_list.hpp>

#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace mk::kit {

inline float& number(tensor_view const& view, std::int64_t row, std::int64_t column) {
  return *reinterpret_cast<float*>(view.at(row, column));
}

inline cost elements_of(task const& t) {
  return {.bytes = 8.0 * static_cast<double>((t.row_end - t.row_begin) * (t.column_end - t.column_begin)),
          .operations = 1};
}

/// y = factor * a + b + bias, all fp32: a, b, y [rows, width], bias [width].
struct mix {
  static constexpr std::string_view name = "mix";
  static constexpr std::uint32_t revision = 1;
  struct arguments {
    float factor = 1;
  };
  enum : int { a, b, bias, y };
  static constexpr std::array slots{input("a"), input("b"), optional("bias"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const& q) {
    q.expect_rank(a, 2);
    q.expect_type(a, {data_type::fp32});
    q.expect_same(b, 0, a, 0);
    q.expect_same(b, 1, a, 1);
    if (q.present(bias)) q.expect_same(bias, 0, a, 1);
    return {q.make(data_type::fp32, {{a, 0}, {a, 1}})};
  }
  static work_shape work(arguments const&, std::span<tensor_desc const> o) {
    return {.rows = o[a].extents[0], .columns = o[a].extents[1].capacity};
  }
  static void regions(arguments const&, std::span<tensor_desc const> o, task const& t, region_list& r) {
    for (int operand : {a, b}) r.read(operand).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
    if (o[bias].rank >= 0) r.read(bias).along(0, t.column_begin, t.column_end);
    r.write(y).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
  }
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const& t) { return elements_of(t); }
  template <class Accumulate>
  static void reference(arguments const& args, std::span<tensor_view const> o, task const& t) {
    for (auto r = t.row_begin; r < t.row_end; ++r)
      for (auto c = t.column_begin; c < t.column_end; ++c) {
        auto const shift = o[bias].present() ? *reinterpret_cast<float const*>(o[bias].at(c)) : 0.0f;
        number(o[y], r, c) = args.factor * number(o[a], r, c) + number(o[b], r, c) + shift;
      }
  }
};

/// y[t] = table[ids[t]]: ids int32 [rows], table fp32 [entries, width], y [rows, width]. Checks what it can see.
struct pick {
  static constexpr std::string_view name = "pick";
  static constexpr std::uint32_t revision = 1;
  struct arguments {
    std::int32_t unused = 0;
  };
  enum : int { ids, table, y };
  static constexpr std::array slots{input("ids"), input("table"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const& q) {
    q.expect_rank(ids, 1);
    q.expect_type(ids, {data_type::int32});
    return {q.make(data_type::fp32, {{ids, 0}, {table, 1}})};
  }
  static work_shape work(arguments const&, std::span<tensor_desc const> o) { return {.rows = o[ids].extents[0]}; }
  static void regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
    r.read(ids).along(0, t.row_begin, t.row_end);
    r.read(table);
    r.write(y).along(0, t.row_begin, t.row_end);
  }
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const& t) { return elements_of(t); }
  static std::int32_t id(std::span<tensor_view const> o, std::int64_t row) {
    return *reinterpret_cast<std::int32_t const*>(o[ids].at(row));
  }
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const> o, task const& t) {
    for (auto r = t.row_begin; r < t.row_end; ++r)
      for (std::int64_t c = 0; c < o[y].extent(1); ++c)
        number(o[y], r, c) = id(o, r) < 0 || id(o, r) >= o[table].extent(0) ? 0 : number(o[table], id(o, r), c);
  }
  static void check(arguments const&, std::span<tensor_view const> o) {
    if (o[ids].data == nullptr) return;
    for (std::int64_t r = 0; r < o[ids].extent(0); ++r)
      if (id(o, r) < 0 || id(o, r) >= o[table].extent(0))
        throw submit_error("ids[" + std::to_string(r) + "] is " + std::to_string(id(o, r)) + ", table has " +
                           std::to_string(o[table].extent(0)) + " rows");
  }
};

/// total[c] += the sum of x[t, c] over all rows t, in their order; total is a state.
struct tally {
  static constexpr std::string_view name = "tally";
  static constexpr std::uint32_t revision = 1;
  struct arguments {
    std::int32_t unused = 0;
  };
  enum : int { x, total };
  static constexpr std::array slots{input("x"), update("total")};

  static std::vector<output_shape> infer(arguments const&, shape_query const& q) {
    q.expect_rank(x, 2);
    q.expect_rank(total, 1);
    q.expect_same(total, 0, x, 1);
    return {};
  }
  static work_shape work(arguments const&, std::span<tensor_desc const> o) {
    return {.rows = o[x].extents[0], .columns = o[x].extents[1].capacity, .column_granule = 1, .rows_divisible = false};
  }
  static void regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
    r.read(x).along(1, t.column_begin, t.column_end);
    r.read(total).along(0, t.column_begin, t.column_end);
    r.write(total).along(0, t.column_begin, t.column_end);
  }
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const& t) { return elements_of(t); }
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const> o, task const& t) {
    for (auto r = t.row_begin; r < t.row_end; ++r)
      for (auto c = t.column_begin; c < t.column_end; ++c)
        *reinterpret_cast<float*>(o[total].at(c)) += number(o[x], r, c);
  }
};

/// y = x, except that it sleeps for every row whose first element is 1001, in milliseconds, and throws for 1002.
struct trap {
  static constexpr std::string_view name = "trap";
  static constexpr std::uint32_t revision = 1;
  static constexpr float sleeps = 1001;
  static constexpr float throws = 1002;
  struct arguments {
    std::int32_t sleep_ms = 20;
  };
  enum : int { x, y };
  static constexpr std::array slots{input("x"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const& q) {
    q.expect_rank(x, 2);
    return {q.make(data_type::fp32, {{x, 0}, {x, 1}})};
  }
  static work_shape work(arguments const&, std::span<tensor_desc const> o) { return {.rows = o[x].extents[0]}; }
  static void regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
    r.read(x).along(0, t.row_begin, t.row_end);
    r.write(y).along(0, t.row_begin, t.row_end);
  }
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const& t) { return elements_of(t); }
  template <class Accumulate>
  static void reference(arguments const& args, std::span<tensor_view const> o, task const& t) {
    for (auto r = t.row_begin; r < t.row_end; ++r) {
      if (number(o[x], r, 0) == sleeps) std::this_thread::sleep_for(std::chrono::milliseconds(args.sleep_ms));
      if (number(o[x], r, 0) == throws) throw std::bad_alloc();
      for (std::int64_t c = 0; c < o[x].extent(1); ++c) number(o[y], r, c) = number(o[x], r, c);
    }
  }
};

using list = operation_list<mix, pick, tally, trap>;

} // namespace mk::kit
