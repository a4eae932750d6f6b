#include <megakernels/ops/error.hpp>
#include <megakernels/scheduler/graph/graph.hpp>

#include <algorithm>

namespace mk {
namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

/// Where a leaf's strides let two elements share an address, or are missing or negative, it is refused.
void check_strides(std::string const& name, tensor_desc const& desc) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < static_cast<std::size_t>(desc.rank); ++i)
    if (desc.extents[i].capacity > 1) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return desc.strides[a] < desc.strides[b]; });
  std::int64_t reach = 1;
  for (auto i : order) {
    if (desc.strides[i] < reach)
      throw graph_error("tensor " + quoted(name) + ": axis " + std::to_string(i) + " has stride " +
                        std::to_string(desc.strides[i]) + " elements, expected " + std::to_string(reach) +
                        " or more so that elements do not overlap");
    reach = desc.strides[i] * (desc.extents[i].capacity - 1) + reach;
  }
}

/// More elements than this in one tensor are taken for a mistake (and would overflow byte counts).
constexpr std::int64_t most_elements = std::int64_t(1) << 56;

} // namespace

std::string_view name_of(value_kind kind) {
  constexpr std::string_view names[] = {"constant", "state", "input", "step", "result", "window"};
  return names[static_cast<std::size_t>(kind)];
}

graph::graph(std::string name) : name_(std::move(name)) {}

axis graph::live(std::string name, std::int64_t capacity) {
  if (capacity < 1)
    throw graph_error("live axis " + quoted(name) + ": capacity is " + std::to_string(capacity) +
                      ", expected 1 or more");
  for (auto const& other : live_axes_)
    if (other.name == name) throw graph_error("live axis " + quoted(name) + " exists already");
  live_axes_.push_back({name, capacity});
  return {std::move(name), extent{.capacity = capacity, .live = static_cast<std::int32_t>(live_axes_.size() - 1)}};
}

value graph::constant(std::string name, data_type type, std::vector<axis> const& axes) {
  for (auto const& a : axes)
    if (a.length.is_live())
      throw graph_error("constant " + quoted(name) + ": axis " + quoted(a.name) + " is live, expected a fixed one");
  return add_leaf(value_kind::constant, std::move(name), type, axes, {});
}

value graph::state(std::string name, data_type type, std::vector<axis> const& axes) {
  for (auto const& a : axes)
    if (a.length.is_live())
      throw graph_error("state " + quoted(name) + ": axis " + quoted(a.name) + " is live, expected a fixed one");
  return add_leaf(value_kind::state, std::move(name), type, axes, {});
}

value graph::input(std::string name, data_type type, std::vector<axis> const& axes,
                   std::vector<std::int64_t> const& strides) {
  return add_leaf(value_kind::input, std::move(name), type, axes, strides);
}

value graph::step(std::string name, data_type type, std::vector<axis> const& axes) {
  return add_leaf(value_kind::step, std::move(name), type, axes, {});
}

value graph::add_leaf(value_kind kind, std::string name, data_type type, std::vector<axis> const& axes,
                      std::vector<std::int64_t> const& strides) {
  auto const what = std::string(name_of(kind)) + " " + quoted(name);
  claim_name(name, name_of(kind));
  if (axes.empty() || axes.size() > static_cast<std::size_t>(max_rank))
    throw graph_error(what + ": has " + std::to_string(axes.size()) + " axes, expected 1 to " +
                      std::to_string(max_rank));
  if (!is_known(type)) throw graph_error(what + ": unknown data type " + std::to_string(static_cast<int>(type)));
  if (!strides.empty() && strides.size() != axes.size())
    throw graph_error(what + ": has " + std::to_string(strides.size()) + " strides for " + std::to_string(axes.size()) +
                      " axes");

  value_info info{.kind = kind,
                  .desc = {.type = type, .rank = static_cast<std::int32_t>(axes.size()), .extents = {}, .strides = {}},
                  .labels = {.name = std::move(name), .axes = {}},
                  .output = {}};
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto const& length = axes[i].length;
    if (length.capacity < 0 || (length.capacity > 0 && elements > most_elements / length.capacity))
      throw graph_error(what + ": axis " + quoted(axes[i].name) + " has " + std::to_string(length.capacity) +
                        " elements; a tensor has 0 to 2^56");
    if (length.is_live() && !has_live_axis(axes[i]))
      throw graph_error(what + ": axis " + quoted(axes[i].name) + " is a live axis of another graph");
    elements *= std::max<std::int64_t>(length.capacity, 1);
    info.desc.extents[i] = length;
    info.labels.axes[i] = axes[i].name;
  }
  set_dense_strides(info.desc);
  for (std::size_t i = 0; i < strides.size(); ++i) info.desc.strides[i] = strides[i];
  check_strides(info.labels.name, info.desc);
  return add_value(std::move(info));
}

bool graph::has_live_axis(axis const& a) const {
  auto const index = static_cast<std::size_t>(a.length.live);
  return index < live_axes_.size() && live_axes_[index].name == a.name &&
         live_axes_[index].capacity == a.length.capacity;
}

value graph::add_value(value_info info) {
  values_.push_back(std::move(info));
  return {this, static_cast<std::int32_t>(values_.size() - 1)};
}

void graph::claim_name(std::string const& name, std::string_view kind) {
  if (name.empty()) throw graph_error(std::string(kind) + " without a name");
  for (auto const& v : values_)
    if ((v.kind < value_kind::result && v.labels.name == name) || v.output == name)
      throw graph_error(std::string(kind) + " " + quoted(name) + ": the name is taken by another leaf or output");
}

std::int32_t graph::checked(value v, std::string_view where) const {
  if (v.graph_ == this) return v.index_;
  throw graph_error(std::string(where) + ": " +
                    (v.present() ? "the value belongs to another graph" : "no value was given") + ", graph " +
                    quoted(name_));
}

value graph::window(value of, int axis_index, std::int64_t begin, std::int64_t length) {
  auto const index = checked(of, "window");
  auto info = values_[static_cast<std::size_t>(index)];
  auto const what = "window of " + quoted(info.labels.name);
  if (axis_index < 0 || axis_index >= info.desc.rank)
    throw graph_error(what + ": no axis " + std::to_string(axis_index) + ", the tensor has " +
                      std::to_string(info.desc.rank));
  auto const at = static_cast<std::size_t>(axis_index);
  auto& cut = info.desc.extents[at];
  auto const name = quoted(info.labels.axes[at]);
  if (cut.is_live()) throw graph_error(what + ": axis " + name + " is live and cannot be cut");
  if (begin < 0 || length < 0 || begin > cut.capacity || length > cut.capacity - begin)
    throw graph_error(what + ": [" + std::to_string(begin) + ", " + std::to_string(begin) + " + " +
                      std::to_string(length) + ") leaves axis " + name + " of " + std::to_string(cut.capacity));
  if (info.kind != value_kind::window) {
    info.base = index;
    info.origin = {};
  }
  info.kind = value_kind::window;
  info.producer = -1;
  info.output.clear();
  info.origin[at] += begin;
  cut = extent{.capacity = length};
  info.labels.name +=
      "[" + info.labels.axes[at] + " " + std::to_string(begin) + ":" + std::to_string(begin + length) + "]";
  return add_value(std::move(info));
}

void graph::output(std::string name, value of) {
  auto const index = checked(of, "output " + quoted(name));
  claim_name(name, "output");
  auto& info = values_[static_cast<std::size_t>(index)];
  if (info.kind != value_kind::result)
    throw graph_error("output " + quoted(name) + ": " + quoted(info.labels.name) + " is a " +
                      std::string(name_of(info.kind)) + ", expected the result of a node");
  if (!info.output.empty())
    throw graph_error("output " + quoted(name) + ": " + quoted(info.labels.name) + " is already output " +
                      quoted(info.output));
  info.output = std::move(name);
}

void graph::check_update(std::string const& node, operation const& op, std::size_t slot_index,
                         std::int32_t index) const {
  auto const& info = values_[static_cast<std::size_t>(index)];
  auto const kind = info.kind == value_kind::window ? values_[static_cast<std::size_t>(info.base)].kind : info.kind;
  if (kind == value_kind::state) return;
  throw graph_error("node " + quoted(node) + " (" + std::string(op.name) +
                    "): " + std::string(op.slots[slot_index].name) + " is updated in place: tensor " +
                    quoted(info.labels.name) + " is a " + std::string(name_of(info.kind)) + ", expected a state");
}

std::vector<std::int32_t> graph::bind_operands(std::string const& name, operation const& op,
                                               std::vector<value> const& operands) const {
  auto const what = "node " + quoted(name) + " (" + std::string(op.name) + ")";
  std::vector<std::int32_t> bound(op.slots.size(), -1);
  std::size_t next = 0;
  for (std::size_t i = 0; i < op.slots.size(); ++i) {
    auto const& slot = op.slots[i];
    if (slot.is_output()) continue;
    auto const given = next < operands.size() ? operands[next] : value();
    ++next;
    if (!given.present() && slot.may_be_absent()) continue;
    bound[i] = checked(given, what + ": operand " + quoted(slot.name));
    if (slot.use == slot_use::update) check_update(name, op, i, bound[i]);
  }
  if (operands.size() > next)
    throw graph_error(what + ": " + std::to_string(operands.size()) + " operands given, it takes at most " +
                      std::to_string(next));
  return bound;
}

std::vector<value> graph::add(std::string name, operation const& op, std::span<std::byte const> arguments,
                              std::vector<value> const& operands, std::initializer_list<int> wanted) {
  auto const what = "node " + quoted(name) + " (" + std::string(op.name) + ")";
  for (auto const& other : nodes_)
    if (other.name == name) throw graph_error(what + ": the name is taken by another node");
  if (arguments.size() != op.arguments_bytes)
    throw graph_error(what + ": " + std::to_string(arguments.size()) + " bytes of arguments, expected " +
                      std::to_string(op.arguments_bytes));
  auto const bound = bind_operands(name, op, operands);

  std::vector<tensor_desc> descs(op.slots.size(), absent);
  std::vector<tensor_labels> labels(op.slots.size());
  auto const makes = std::make_unique<bool[]>(op.slots.size()); // a vector<bool> has no span
  for (std::size_t i = 0; i < op.slots.size(); ++i) {
    makes[i] = op.slots[i].use == slot_use::output;
    if (bound[i] < 0) continue;
    descs[i] = values_[static_cast<std::size_t>(bound[i])].desc;
    labels[i] = values_[static_cast<std::size_t>(bound[i])].labels;
  }
  for (int slot : wanted) {
    if (slot < 0 || static_cast<std::size_t>(slot) >= op.slots.size() ||
        !op.slots[static_cast<std::size_t>(slot)].is_output())
      throw graph_error(what + ": slot " + std::to_string(slot) + " is not an output");
    makes[static_cast<std::size_t>(slot)] = true;
  }
  auto const shapes =
      op.infer(arguments.data(), shape_query(op, name, descs, labels, std::span(makes.get(), op.slots.size())));

  node_info node{std::move(name), &op, {arguments.begin(), arguments.end()}, bound};
  std::vector<value> results;
  auto shape = shapes.begin();
  for (std::size_t i = 0; i < op.slots.size(); ++i) {
    if (!makes[i]) continue;
    auto const& made = *shape++;
    tensor_labels label{.name = node.name + "." + std::string(op.slots[i].name), .axes = made.axes};
    results.push_back(add_value({.kind = value_kind::result,
                                 .desc = made.desc,
                                 .labels = std::move(label),
                                 .producer = static_cast<std::int32_t>(nodes_.size()),
                                 .output = {}}));
    node.operands[i] = results.back().index();
  }
  nodes_.push_back(std::move(node));
  return results;
}

std::vector<tensor_desc> graph::operands_of(node_info const& node) const {
  std::vector<tensor_desc> result;
  result.reserve(node.operands.size());
  for (auto index : node.operands) result.push_back(index < 0 ? absent : values_[static_cast<std::size_t>(index)].desc);
  return result;
}

} // namespace mk
