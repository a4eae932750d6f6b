#pragma once

/// Graphs as text for people.

#include <megakernels/scheduler/graph/graph.hpp>

#include <string>

namespace mk {

/// A listing: live axes, leaves, then nodes with their operands. `->` marks an output, `<>` what is updated in place.
/// A live axis is written name<=capacity, a fixed one name=length; strides follow where a tensor is not dense.
std::string to_text(graph const&);

/// The same for Graphviz: leaves and results are boxes, nodes ellipses; a dashed edge leads from a value to its window,
/// one with two heads to a node that updates a state.
std::string to_dot(graph const&);

} // namespace mk
