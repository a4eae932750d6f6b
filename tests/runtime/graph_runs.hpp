#pragma once

/// Graphs with what they need for a run, in sessions: random ones, and others that have `get`, `live` and `leaves` too.

#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>

#include "../scheduler/random_graph.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mk::test {

using run_outputs = std::map<std::string, std::vector<std::byte>>;

inline std::shared_ptr<tensor const> constant(tensor_desc const& desc, std::vector<std::byte> const& bytes) {
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < static_cast<std::size_t>(desc.rank); ++i) extents.push_back(desc.extents[i].capacity);
  auto made = std::make_shared<tensor>(desc.type, extents);
  std::copy(bytes.begin(), bytes.end(), made->data());
  return made;
}

/// Lengths, values, inputs, and outputs that start as bytes FF.
template <class Graph> step step_of(Graph& of, run_outputs& results) {
  step s;
  for (std::size_t i = 0; i < of.live.size(); ++i) s.live(of.get().live_axes()[i].name, of.live[i]);
  for (auto const& v : of.get().values()) {
    auto const view = [&](std::vector<std::byte>& bytes) { return view_of(v.desc, bytes.data(), of.live.data()); };
    if (v.kind == value_kind::step) s.values(v.labels.name, view(of.leaves.at(v.labels.name)));
    if (v.kind == value_kind::input) s.bind(v.labels.name, view(of.leaves.at(v.labels.name)));
    if (v.output.empty()) continue;
    auto& bytes = results[v.output];
    bytes.assign(span_bytes(v.desc), std::byte{0xFF});
    s.bind(v.output, view(bytes));
  }
  return s;
}

/// Constants and states of the graph; `set_state(state, bytes)` writes memory of the device.
template <class Graph, class F> void set_leaves(session& s, Graph& of, F set_state) {
  for (auto const& v : of.get().values()) {
    if (v.kind == value_kind::constant) s.set_constant(v.labels.name, constant(v.desc, of.leaves.at(v.labels.name)));
    if (v.kind == value_kind::state) set_state(s.state(v.labels.name), of.leaves.at(v.labels.name));
  }
}

/// One submission of the graph, of so many runs, in a session that has its programs and states anew.
template <class Graph, class F>
run_outputs run(session& s, Graph& of, std::int64_t workers, F set_state, std::int64_t runs = 1) {
  auto const p = s.load(
      compile(of.get(), {.workers = workers, .bytes_per_second = 1, .operations_per_second = 1e9, .task_seconds = 1e-9},
              full_operations));
  set_leaves(s, of, set_state);
  run_outputs results;
  s.submit(p, step_of(of, results).repeat(runs)).wait();
  return results;
}

} // namespace mk::test
