#pragma once

/// The operands of a node while its shapes are checked and its outputs' shapes are inferred. Every failure names
/// node, operation, operand, axis, value and what was expected.

#include <megakernels/ops/tensor.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace mk {

struct operation;

/// Names for messages: of a tensor and of its axes.
struct tensor_labels {
  std::string name;
  std::array<std::string, max_rank> axes{};
};

/// Shape of an output and the names of its axes.
struct output_shape {
  tensor_desc desc;
  std::array<std::string, max_rank> axes{};
};

class shape_query {
public:
  /// `operands` and `labels` have one entry a slot; outputs (not yet known) and absent operands have rank -1.
  /// `wanted` tells for each optional output slot whether the node makes it.
  shape_query(operation const& op, std::string_view node, std::span<tensor_desc const> operands,
              std::span<tensor_labels const> labels, std::span<bool const> wanted)
      : operation_(op), node_(node), operands_(operands), labels_(labels), wanted_(wanted) {}

  tensor_desc const& operator[](int slot) const { return operands_[static_cast<std::size_t>(slot)]; }
  bool present(int slot) const { return (*this)[slot].rank >= 0; }
  /// Whether the node makes the given (optional) output.
  bool wanted(int slot) const { return wanted_[static_cast<std::size_t>(slot)]; }

  /// Axis as it is written in messages and handed on to outputs.
  std::string const& axis_name(int slot, int axis) const {
    return labels_[static_cast<std::size_t>(slot)].axes[static_cast<std::size_t>(axis)];
  }
  extent const& axis(int slot, int axis) const { return (*this)[slot].extents[static_cast<std::size_t>(axis)]; }

  void expect_rank(int slot, int rank) const;
  void expect_type(int slot, std::initializer_list<data_type> allowed) const;
  void expect_floating(int slot) const;
  /// The data type that an argument names is a floating one (and is known at all).
  void expect_floating_argument(data_type type, std::string_view argument) const;
  /// The axis has exactly this length (and is live on the same axis, or fixed alike).
  void expect_extent(int slot, int axis, extent const& expected, std::string_view why) const;
  /// The axis has the same length as an axis of another operand.
  void expect_same(int slot, int axis, int other_slot, int other_axis) const;
  /// The innermost axis is contiguous.
  void expect_contiguous(int slot) const;
  /// Throws unless `ok`; `requirement` says what must hold, `value` what was found.
  void expect_argument(bool ok, std::string_view argument, double value, std::string_view requirement) const;

  [[noreturn]] void fail(int slot, std::string_view what) const;
  [[noreturn]] void fail(std::string_view what) const;

  /// An output whose axes are those of existing operands, dense and of the given type.
  struct axis_ref {
    int slot;
    int axis;
  };
  output_shape make(data_type type, std::initializer_list<axis_ref> axes) const;

private:
  operation const& operation_;
  std::string_view node_;
  std::span<tensor_desc const> operands_;
  std::span<tensor_labels const> labels_;
  std::span<bool const> wanted_;
};

} // namespace mk
