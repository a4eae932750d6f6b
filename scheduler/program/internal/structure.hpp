#pragma once

#include <megakernels/ops/operation_list.hpp>
#include <megakernels/scheduler/program/program.hpp>

#include <string>
#include <vector>

namespace mk::internal {

/// The first half of `verify`: everything that can be told without knowing in which order records run. Returns the
/// work grid of each node.
std::vector<work_shape> check_structure(program const&, operation_table const&);

/// A part of that: the descriptors, once buffers were checked.
void check_descriptors(program const&);

/// The second half: cycles, waits, unordered accesses, reuse of memory. Needs a program that passed the first.
void check_order(program const&, operation_table const&, std::vector<work_shape> const&);

/// "node 'x' (linear)" for messages.
std::string describe(program::node const&, operation_table const&);

/// The tensor that a tensor is a window of, or itself.
inline std::size_t base_of(program const& p, std::size_t tensor) {
  auto const base = p.tensors[tensor].base;
  return base < 0 ? tensor : static_cast<std::size_t>(base);
}

} // namespace mk::internal
