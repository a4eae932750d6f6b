#pragma once

/// Pass 3: where each intermediate result lies in the workspace.

#include <megakernels/scheduler/depend.hpp>
#include <megakernels/scheduler/graph/graph.hpp>

#include <cstdint>
#include <vector>

namespace mk {

/// Alignment of every intermediate, in bytes.
inline constexpr std::uint64_t workspace_alignment = 256;

struct memory_plan {
  std::vector<std::uint64_t> offsets; ///< for each value; only meaningful for intermediates
  std::uint64_t workspace_bytes = 0;
};

/// True for results that live in the workspace: made by a node and not bound by the caller.
inline bool is_intermediate(graph::value_info const& v) { return v.kind == value_kind::result && v.output.empty(); }

/// Two intermediates share bytes only where the dependencies already order every task that touches the one before every
/// task that touches the other: reuse of memory never makes anything wait.
memory_plan plan_memory(graph const&, dependencies const&);

} // namespace mk
