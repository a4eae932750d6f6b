#include "cuda/programs.hpp"

#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/order.hpp>
#include <megakernels/scheduler/program/verify.hpp>

#include "cuda/operations.hpp"

#include <string>

namespace mk::bench {
namespace {

/// Tasks cost nothing: as many are made as can be.
machine with_workers(std::int64_t workers) { return {.workers = workers, .task_seconds = 1e-18}; }

value add_tick(graph& g, std::int64_t number, value x, std::int32_t what) {
  return g.add<tick>("tick." + std::to_string(number), {.what = what}, {x})[0];
}

void add_stream(graph& g, std::int64_t rows, std::int64_t words, std::int32_t laps) {
  auto const weights = g.constant("weights", data_type::int32, {{"rows", rows}, {"words", words}});
  g.output("rows", g.add<stream_rows>("stream", {.laps = laps}, {weights})[0]);
}

} // namespace

program make_columns(std::int64_t nodes, std::int64_t columns, std::int32_t what) {
  graph g("columns");
  auto x = g.input("x", data_type::int32, {{"row", 1}, {"column", columns}});
  for (std::int64_t i = 0; i < nodes; ++i) x = add_tick(g, i, x, what);
  g.output("y", x);
  return compile(g, with_workers(columns), probe_list::table);
}

program make_nothing(std::int64_t workers) {
  return compile(graph("nothing"), with_workers(workers), probe_list::table);
}

program make_edges(edge_chain const& c) {
  graph g("edges");
  auto x = g.input("x", data_type::int32, {{"row", 1}, {"column", 1}});
  for (std::int64_t i = 0; i <= c.edges; ++i) {
    auto const end = i == 0 || i == c.edges;
    x = add_tick(g, i, x, c.count ? tick::count : end ? tick::stamp : tick::rest);
    if (end) g.output(i == 0 ? "first" : "last", x);
  }
  if (c.laps > 0) add_stream(g, c.workers - 2, c.words, c.laps);

  // As `compile` does, but for the places.
  auto const m = with_workers(c.workers);
  auto const turn = static_cast<std::uint32_t>(c.workers / 2);
  schedule s;
  s.tiles = tile(g, m);
  s.depends = depend(g, s.tiles);
  s.memory = plan_memory(g, s.depends);
  s.places = place(s.tiles, s.depends, m);
  std::uint32_t other = 1;
  for (std::size_t i = 0; i < s.tiles.tasks.size(); ++i) {
    auto const node = s.tiles.tasks[i].node;
    if (node <= c.edges)
      s.places.worker[i] = node % 2 == 0 ? 0 : turn;
    else
      s.places.worker[i] = other == turn ? ++other : other;
    if (node > c.edges) ++other;
  }
  s.lists = order(s.places, m);
  auto p = encode(g, s, probe_list::table);
  verify(p, probe_list::table);
  return p;
}

program make_stream(std::int64_t workers, std::int64_t words, std::int32_t laps) {
  graph g("stream");
  add_stream(g, workers, words, laps);
  return compile(g, with_workers(workers), probe_list::table);
}

} // namespace mk::bench
