#pragma once

/// What a graph means: its nodes run one after another, each as one task, every value in memory of its own.

#include "random_graph.hpp"

namespace mk::kit {

class node_by_node {
public:
  /// States start as the leaves say. Results start as bytes FF.
  node_by_node(graph const& g, contents const& leaves) : g_(g), memory_(g.values().size()) {
    for (std::size_t v = 0; v < memory_.size(); ++v) {
      auto const& info = g.values()[v];
      if (info.base < 0 && info.kind == value_kind::state) memory_[v] = leaves.at(info.labels.name);
    }
  }

  /// One submission: with these leaves, but the states that there are.
  void run(contents const& leaves, std::vector<std::int64_t> const& live) {
    for (std::size_t v = 0; v < memory_.size(); ++v) {
      auto const& info = g_.values()[v];
      if (info.base >= 0 || info.kind == value_kind::state) continue;
      if (info.kind == value_kind::result)
        memory_[v].assign(span_bytes(info.desc), std::byte{0xFF});
      else
        memory_[v] = leaves.at(info.labels.name);
    }
    for (auto const& node : g_.nodes()) run_node(node, live);
  }

  /// All bytes of an output or state.
  std::vector<std::byte> const& bytes(std::string const& name) const {
    for (std::size_t v = 0; v < memory_.size(); ++v) {
      auto const& info = g_.values()[v];
      if (info.output == name || (info.kind == value_kind::state && info.labels.name == name)) return memory_[v];
    }
    throw error("no output or state '" + name + "'");
  }

private:
  void run_node(graph::node_info const& node, std::vector<std::int64_t> const& live) {
    auto const work = node.op->work(node.arguments.data(), g_.operands_of(node));
    auto const rows = work.rows.is_live() ? live[static_cast<std::size_t>(work.rows.live)] : work.rows.capacity;
    if (rows == 0 || work.columns == 0) return;
    std::vector<tensor_view> views;
    for (auto operand : node.operands) views.push_back(view(operand, live));
    node.op->run(node.arguments.data(), views, {.row_end = rows, .column_end = work.columns});
  }

  tensor_view view(std::int32_t operand, std::vector<std::int64_t> const& live) {
    if (operand < 0) return {};
    auto const& info = g_.values()[static_cast<std::size_t>(operand)];
    auto* data = memory_[static_cast<std::size_t>(info.base < 0 ? operand : info.base)].data();
    for (std::size_t i = 0; i < max_rank; ++i)
      data += info.origin[i] * info.desc.strides[i] * tylo::bytes_of(info.desc.type);
    return view_of(info.desc, data, live.data());
  }

  graph const& g_;
  std::vector<std::vector<std::byte>> memory_; // of each value that is not a window
};

} // namespace mk::kit
