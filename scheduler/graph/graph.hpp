#pragma once

/// Operation graphs: values and the nodes that make them. Building a graph checks it: wrong use throws graph_error that
/// names node, tensor, axis, value and what was expected. Nodes mean what they would if run one after another in the
/// order in which they were added.

#include <megakernels/ops/operation.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mk {

class graph;

/// A named axis of a tensor.
struct axis {
  std::string name;
  extent length;

  /// An axis that always has `length` elements.
  axis(std::string_view axis_name, std::int64_t fixed_length) : name(axis_name), length{.capacity = fixed_length} {}
  axis(std::string axis_name, extent e) : name(std::move(axis_name)), length(e) {}
};

/// Handle of a value of one graph. Copy it freely; it is valid as long as its graph.
class value {
public:
  value() = default; ///< no value: stands for an absent optional operand

  bool present() const { return graph_ != nullptr; }
  std::int32_t index() const { return index_; }
  friend bool operator==(value const&, value const&) = default;

private:
  friend class graph;
  value(graph const* owner, std::int32_t index) : graph_(owner), index_(index) {}

  graph const* graph_ = nullptr;
  std::int32_t index_ = -1;
};

/// What a value is.
enum class value_kind : std::uint8_t {
  constant, ///< weights: set once for a session
  state,    ///< lives across submissions, updated in place
  input,    ///< bound by the caller for each submission
  step,     ///< small values that travel in each submission
  result,   ///< made by a node
  window,   ///< a part of another value
};

std::string_view name_of(value_kind);

class graph {
public:
  struct value_info {
    value_kind kind;
    tensor_desc desc;
    tensor_labels labels;
    std::int32_t producer = -1;                  ///< node that makes it (kind result)
    std::int32_t base = -1;                      ///< value that it is a window of (kind window); never itself a window
    std::array<std::int64_t, max_rank> origin{}; ///< of the window
    std::string output;                          ///< name under which it is bound as an output; empty if it is none
  };

  struct node_info {
    std::string name;
    operation const* op;
    std::vector<std::byte> arguments;
    std::vector<std::int32_t> operands; ///< value of each slot, -1 where absent
  };

  struct live_axis {
    std::string name;
    std::int64_t capacity;
  };

  explicit graph(std::string name);
  graph(graph const&) = delete;
  graph& operator=(graph const&) = delete;

  /// An axis whose length each submission states, from 0 to `capacity`. Names are unique.
  axis live(std::string name, std::int64_t capacity);

  /// Leaves of the graph. Names are unique among them and the outputs: the session binds by them. Tensors are dense and
  /// row-major unless `strides` (in elements, one an axis) says otherwise.
  value constant(std::string name, data_type type, std::vector<axis> const& axes);
  value state(std::string name, data_type type, std::vector<axis> const& axes);
  value input(std::string name, data_type type, std::vector<axis> const& axes,
              std::vector<std::int64_t> const& strides = {});
  value step(std::string name, data_type type, std::vector<axis> const& axes);

  /// The part [begin, begin + length) of one axis of a value. No bytes move; a window of a window is flattened.
  /// A live axis cannot be cut.
  value window(value of, int axis_index, std::int64_t begin, std::int64_t length);

  /// Names a result as an output: the caller binds memory for it. Each result can be an output once; windows, leaves
  /// and states cannot.
  void output(std::string name, value of);

  /// Adds a node. `operands` has one value for each slot that is not an output, in slot order; a default-constructed
  /// value (or nothing, at the end) leaves an optional one out. `wanted` names the optional outputs to make. Returns
  /// the outputs in slot order. Node names are unique.
  template <class Op>
  std::vector<value> add(std::string name, typename Op::arguments const& arguments, std::vector<value> const& operands,
                         std::initializer_list<int> wanted = {}) {
    static_assert(std::is_trivially_copyable_v<typename Op::arguments>);
    return add(std::move(name), operation_of<Op>, std::as_bytes(std::span(&arguments, 1)), operands, wanted);
  }
  std::vector<value> add(std::string name, operation const&, std::span<std::byte const> arguments,
                         std::vector<value> const& operands, std::initializer_list<int> wanted = {});

  std::string const& name() const { return name_; }
  std::span<value_info const> values() const { return values_; }
  std::span<node_info const> nodes() const { return nodes_; }
  std::span<live_axis const> live_axes() const { return live_axes_; }
  value_info const& operator[](value v) const { return values_[static_cast<std::size_t>(checked(v, "graph"))]; }

  /// Descriptions of a node's operands, `absent` for absent ones.
  std::vector<tensor_desc> operands_of(node_info const&) const;

private:
  value add_leaf(value_kind, std::string name, data_type, std::vector<axis> const&, std::vector<std::int64_t> const&);
  value add_value(value_info);
  bool has_live_axis(axis const&) const;
  std::int32_t checked(value, std::string_view where) const;
  void claim_name(std::string const& name, std::string_view kind);
  std::vector<std::int32_t> bind_operands(std::string const& name, operation const&, std::vector<value> const&) const;
  void check_update(std::string const& node, operation const&, std::size_t slot_index, std::int32_t index) const;

  std::string name_;
  std::vector<value_info> values_;
  std::vector<node_info> nodes_;
  std::vector<live_axis> live_axes_;
};

} // namespace mk
