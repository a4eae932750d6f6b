#pragma once

/// What the tests of the passes share: the text of an error, tilings made by hand, edges as text.

#include <megakernels/ops/error.hpp>
#include <megakernels/scheduler/depend.hpp>
#include <megakernels/scheduler/graph/graph.hpp>
#include <megakernels/scheduler/tile.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mk::kit {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true; ///< times mean nothing, and long tests are cut short
#else
inline constexpr bool sanitized = false;
#endif

/// The text of the error of type Error that f throws; empty (and a failure) where it throws none.
template <class Error, class F> std::string text_of(F f) {
  try {
    f();
  } catch (Error const& e) {
    return e.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

/// Random numbers that are the same everywhere (splitmix64: Steele, Lea, Flood, 2014).
class random {
public:
  explicit random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    auto z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// low .. high, both included.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return integer(0, 99) < percent; }
  std::size_t index(std::size_t count) { return static_cast<std::size_t>(bits() % count); }
  template <class T> T const& pick(std::vector<T> const& from) { return from[index(from.size())]; }

private:
  std::uint64_t state_;
};

/// Tile sizes of a node; 0: the whole axis.
struct tiles {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// What `tile` could have made, with the given tile sizes for each node.
inline tiling cut(graph const& g, std::vector<tiles> const& sizes) {
  tiling result;
  for (auto const& node : g.nodes()) {
    auto const n = static_cast<std::uint32_t>(result.nodes.size());
    tiling::node made{.work = node.op->work(node.arguments.data(), g.operands_of(node))};
    auto const rows = made.work.rows.capacity;
    auto const& size = sizes.at(n);
    made.tile_rows = size.rows > 0 ? size.rows : rows;
    made.tile_columns = size.columns > 0 ? size.columns : made.work.columns;
    made.first_task = static_cast<std::uint32_t>(result.tasks.size());
    for (std::uint32_t r = 0; r * made.tile_rows < rows; ++r)
      for (std::uint32_t c = 0; c * made.tile_columns < made.work.columns; ++c)
        result.tasks.push_back({.node = n, .column_tile = c, .row_first = r, .row_last = r + 1, .seconds = 1});
    made.task_count = static_cast<std::uint32_t>(result.tasks.size()) - made.first_task;
    result.nodes.push_back(made);
  }
  return result;
}

/// "up0": the first task of node 'up'.
inline std::string task_name(graph const& g, tiling const& t, std::uint32_t task) {
  auto const node = t.tasks[task].node;
  return g.nodes()[node].name + std::to_string(task - t.nodes[node].first_task);
}

/// For each task that waits, "down0 <- up0 up1", in the order of tasks.
inline std::vector<std::string> edges_of(graph const& g, tiling const& t, dependencies const& d) {
  std::vector<std::string> result;
  for (std::uint32_t task = 0; task < t.tasks.size(); ++task) {
    std::vector<std::uint32_t> producers;
    for (auto set : d.waits[task]) producers.insert(producers.end(), d.sets[set].begin(), d.sets[set].end());
    if (producers.empty()) continue;
    std::sort(producers.begin(), producers.end());
    result.push_back(task_name(g, t, task) + " <-");
    for (auto p : producers) result.back() += " " + task_name(g, t, p);
  }
  return result;
}

using lines = std::vector<std::string>;

} // namespace mk::kit
