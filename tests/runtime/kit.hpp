#pragma once

/// What the tests of the runtime share: programs put together by hand, and tensors with planted values.

#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/program/program.hpp>

#include "operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace mk::kit {

/// Builds a program: every task waits for all tasks of the nodes before it that touch the same buffer, one of the two
/// writing, and tasks go to the workers in turn.
class builder {
public:
  explicit builder(std::string name) {
    p_.name = std::move(name);
    p_.list_hash = list::hash;
  }

  extent live(std::string name, std::int64_t capacity) {
    p_.live_axes.push_back({.name = std::move(name), .capacity = capacity});
    return {.capacity = capacity, .live = static_cast<std::int32_t>(p_.live_axes.size() - 1)};
  }

  /// A buffer and its tensor; returns the tensor.
  std::int32_t buffer(buffer_kind kind, std::string name, tensor_desc const& desc) {
    auto const index = static_cast<std::int32_t>(p_.tensors.size());
    p_.buffers.push_back(
        {.name = name, .kind = kind, .bytes = span_bytes(desc), .root = kind == buffer_kind::workspace ? -1 : index});
    program::tensor t;
    t.name = std::move(name);
    t.buffer = static_cast<std::uint32_t>(p_.buffers.size() - 1);
    t.desc = desc;
    p_.tensors.push_back(std::move(t));
    return index;
  }

  template <class Op>
  void node(std::string name, typename Op::arguments const& arguments, std::vector<std::int32_t> operands,
            std::int64_t tile_rows, std::int64_t tile_columns) {
    program::node n;
    n.name = std::move(name);
    n.operation = static_cast<std::uint32_t>(list::table.find(Op::name) - list::table.operations.data());
    auto const* bytes = reinterpret_cast<std::byte const*>(&arguments);
    n.arguments.assign(bytes, bytes + sizeof arguments);
    n.operands = std::move(operands);
    n.tile_rows = tile_rows;
    n.tile_columns = tile_columns;
    p_.nodes.push_back(std::move(n));
  }

  program build(std::uint32_t workers) const {
    auto p = p_;
    std::vector<std::vector<record>> lists(workers);
    std::uint32_t next = 0;
    for (std::uint32_t n = 0; n < p.nodes.size(); ++n) {
      auto const waits = producers(n);
      auto const tasks = tasks_of(n);
      p.counters.push_back(static_cast<std::uint32_t>(tasks.size()));
      for (auto r : tasks) {
        r.wait_count = static_cast<std::uint16_t>(waits.size());
        if (waits.size() <= 2) {
          std::copy(waits.begin(), waits.end(), r.wait);
        } else {
          r.wait[0] = static_cast<std::uint32_t>(p.overflow.size());
          p.overflow.insert(p.overflow.end(), waits.begin(), waits.end());
        }
        r.signal = n;
        r.signal_count = 1;
        lists[next++ % workers].push_back(r);
      }
    }
    for (auto const& records : lists) {
      p.workers.push_back(
          {.first = static_cast<std::uint32_t>(p.records.size()), .count = static_cast<std::uint32_t>(records.size())});
      p.records.insert(p.records.end(), records.begin(), records.end());
    }
    return p;
  }

private:
  bool writes(program::node const& node, std::size_t slot) const {
    return list::table.operations[node.operation].slots[slot].is_written();
  }

  std::vector<std::uint32_t> producers(std::uint32_t n) const {
    std::vector<std::uint32_t> result;
    auto const& node = p_.nodes[n];
    for (std::uint32_t m = 0; m < n; ++m) {
      bool conflict = false;
      for (std::size_t i = 0; i < node.operands.size(); ++i)
        for (std::size_t j = 0; j < p_.nodes[m].operands.size(); ++j)
          conflict = conflict || (node.operands[i] >= 0 && node.operands[i] == p_.nodes[m].operands[j] &&
                                  (writes(node, i) || writes(p_.nodes[m], j)));
      if (conflict) result.push_back(m);
    }
    return result;
  }

  std::vector<record> tasks_of(std::uint32_t n) const {
    auto const& node = p_.nodes[n];
    auto const work = list::table.operations[node.operation].work(node.arguments.data(), operands_of(p_, node));
    std::vector<record> result;
    for (std::uint32_t row = 0; row * node.tile_rows < work.rows.capacity; ++row)
      for (std::uint32_t column = 0; column * node.tile_columns < work.columns; ++column) {
        record r;
        r.node = n;
        r.column_tile = column;
        r.row_first = row;
        r.row_last = row + 1;
        result.push_back(r);
      }
    return result;
  }

  program p_;
};

inline constexpr std::int64_t capacity = 64; ///< rows of the programs below
inline constexpr std::int64_t width = 24;

/// h1 = factor x + x + bias; h2 = 3 h1 + x; y = h2 / 2 + h1 + bias. Live axis "tokens", constant "bias".
inline program chain(std::string name, float factor, std::uint32_t workers) {
  builder b(std::move(name));
  auto const shape = dense(data_type::fp32, b.live("tokens", capacity), extent{width});
  auto const x = b.buffer(buffer_kind::input, "x", shape);
  auto const bias = b.buffer(buffer_kind::constant, "bias", dense(data_type::fp32, extent{width}));
  auto const h1 = b.buffer(buffer_kind::workspace, "h1", shape);
  auto const h2 = b.buffer(buffer_kind::workspace, "h2", shape);
  auto const y = b.buffer(buffer_kind::output, "y", shape);
  b.node<mix>("first", {.factor = factor}, {x, x, bias, h1}, 4, 8);
  b.node<mix>("second", {.factor = 3}, {h1, x, -1, h2}, 8, 6);
  b.node<mix>("third", {.factor = 0.5f}, {h2, h1, bias, y}, 2, 24);
  return b.build(workers);
}

/// What `chain` computes.
inline float chain_result(float factor, float x, float bias) {
  auto const h1 = factor * x + x + bias;
  auto const h2 = 3.0f * h1 + x;
  return 0.5f * h2 + h1 + bias;
}

/// y = x through a `trap`, then h = y + x through `mix`. Live axis "tokens"; tasks of 2 rows.
inline program trapped(std::string name, std::uint32_t workers, std::int32_t sleep_ms = 20) {
  builder b(std::move(name));
  auto const shape = dense(data_type::fp32, b.live("tokens", capacity), extent{width});
  auto const x = b.buffer(buffer_kind::input, "x", shape);
  auto const h = b.buffer(buffer_kind::workspace, "h", shape);
  auto const y = b.buffer(buffer_kind::output, "y", shape);
  b.node<trap>("door", {.sleep_ms = sleep_ms}, {x, h}, 2, 1);
  b.node<mix>("room", {.factor = 1}, {h, x, -1, y}, 2, width);
  return b.build(workers);
}

/// y = table[ids], total += column sums of y. Step values "ids", state "total", constant "table" of 10 rows.
inline program counting(std::string name, std::uint32_t workers) {
  builder b(std::move(name));
  auto const rows = b.live("tokens", capacity);
  auto const ids = b.buffer(buffer_kind::step, "ids", dense(data_type::int32, rows));
  auto const table = b.buffer(buffer_kind::constant, "table", dense(data_type::fp32, extent{10}, extent{width}));
  auto const y = b.buffer(buffer_kind::output, "y", dense(data_type::fp32, rows, extent{width}));
  auto const total = b.buffer(buffer_kind::state, "total", dense(data_type::fp32, extent{width}));
  b.node<pick>("pick", {}, {ids, table, y}, 4, 1);
  b.node<tally>("tally", {}, {y, total}, capacity, 5);
  return b.build(workers);
}

/// A tensor of small whole numbers that depend on `seed`; [rows, width], or [width] for rows of -1.
inline tensor numbers(std::int64_t rows, int seed) {
  tensor t = rows < 0 ? tensor(data_type::fp32, {width}) : tensor(data_type::fp32, {rows, width});
  int i = seed;
  for (auto& e : t.span<float>()) e = static_cast<float>((i++ * 37 + seed) % 101 - 50);
  return t;
}

inline tensor poisoned(std::int64_t rows) {
  tensor t(data_type::fp32, {rows, width});
  std::ranges::fill(t.span<float>(), std::numeric_limits<float>::quiet_NaN());
  return t;
}

inline std::shared_ptr<tensor const> shared(tensor t) { return std::make_shared<tensor const>(std::move(t)); }

/// The first `rows` rows.
inline tensor_view rows_of(tensor const& t, std::int64_t rows) {
  auto view = t.view();
  view.extents[0] = rows;
  return view;
}

inline step on(tensor_view const& x, tensor_view const& y) {
  return step().live("tokens", x.extent(0)).bind("x", x).bind("y", y);
}

inline bool all_nan(std::span<float const> values) {
  return std::ranges::all_of(values, [](float v) { return v != v; });
}

/// The text of the error that `f` throws; fails the test if it throws no E.
template <class E, class F> std::string error_of(F const& f) {
  try {
    f();
  } catch (E const& e) {
    return e.what();
  } catch (std::exception const& e) {
    ADD_FAILURE() << "another error: " << e.what();
    return {};
  }
  ADD_FAILURE() << "no error";
  return {};
}

inline bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

} // namespace mk::kit
