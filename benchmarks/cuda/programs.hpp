#pragma once

/// Programs of operations.hpp.

#include <megakernels/scheduler/program/program.hpp>

#include <cstdint>

namespace mk::bench {

/// A chain of `nodes` ticks, x int32 [1, columns] in, y out, each column a chain of its own on one worker: no waits.
/// `what` as in `tick`.
program make_columns(std::int64_t nodes, std::int64_t columns, std::int32_t what);

/// Nothing to do for so many workers.
program make_nothing(std::int64_t workers);

/// A chain of `edges` + 1 ticks on one number, x int32 [1, 1], by turns on two workers, so that each waits for the one
/// before: outputs "first" and "last" of the first and the last tick. With `count`, each adds one; otherwise the first
/// and the last say when they run, and the others do nothing. With `laps` over 0, each of the other workers reads a row
/// of the constant "weights" int32 [workers - 2, words] so often at the same time: output "rows", see `stream_rows`.
struct edge_chain {
  std::int64_t workers = 2;
  std::int64_t edges = 1;
  bool count = false;
  std::int32_t laps = 0;
  std::int64_t words = 0;
};
program make_edges(edge_chain const&);

/// Each worker reads its row of the constant "weights" int32 [workers, words] `laps` times; output "rows".
program make_stream(std::int64_t workers, std::int64_t words, std::int32_t laps);

} // namespace mk::bench
