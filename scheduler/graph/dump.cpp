#include <megakernels/scheduler/graph/dump.hpp>

#include <algorithm>
#include <sstream>

namespace mk {
namespace {

/// In quotes, so that no name can be taken for anything else.
std::string in_quotes(std::string_view text, char quote) {
  std::string result(1, quote);
  for (char c : text) {
    if (c == quote || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + quote;
}

/// A window's strides are those of its base and are not told again.
bool has_plain_strides(graph::value_info const& v) {
  auto dense = v.desc;
  set_dense_strides(dense);
  return v.kind == value_kind::window || dense.strides == v.desc.strides;
}

std::string type_and_shape(graph::value_info const& v) {
  std::ostringstream text;
  text << name_of(v.desc.type) << " [";
  auto const rank = static_cast<std::size_t>(v.desc.rank);
  for (std::size_t i = 0; i < rank; ++i) {
    auto const& length = v.desc.extents[i];
    text << (i == 0 ? "" : ", ") << v.labels.axes[i] << (length.is_live() ? "<=" : "=") << length.capacity;
  }
  text << ']';
  if (has_plain_strides(v)) return text.str();
  text << " strides [";
  for (std::size_t i = 0; i < rank; ++i) text << (i == 0 ? "" : ", ") << v.desc.strides[i];
  text << ']';
  return text.str();
}

std::string_view arrow_of(slot const& s) { return s.is_output() ? "->" : s.use == slot_use::update ? "<>" : "  "; }

void write_node(std::ostream& to, graph const& g, graph::node_info const& node) {
  to << "node " << in_quotes(node.name, '\'') << ' ' << node.op->name << '\n';
  std::size_t width = 0;
  for (auto const& s : node.op->slots) width = std::max(width, s.name.size());
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (node.operands[i] < 0) continue;
    auto const& s = node.op->slots[i];
    auto const& v = g.values()[static_cast<std::size_t>(node.operands[i])];
    to << "  " << s.name << std::string(width - s.name.size(), ' ') << ' ' << arrow_of(s) << ' '
       << in_quotes(v.labels.name, '\'') << ' ' << type_and_shape(v);
    if (!v.output.empty() && s.is_output()) to << ", output " << in_quotes(v.output, '\'');
    to << '\n';
  }
}

void write_dot_value(std::ostream& to, graph const& g, std::size_t index) {
  auto const& v = g.values()[index];
  auto label = std::string(name_of(v.kind)) + " " + v.labels.name + "\n" + type_and_shape(v);
  if (!v.output.empty()) label += "\noutput " + v.output;
  to << "  v" << index << " [shape=box, label=" << in_quotes(label, '"') << (v.output.empty() ? "" : ", penwidth=2")
     << "];\n";
  if (v.base >= 0) to << "  v" << v.base << " -> v" << index << " [style=dashed];\n";
}

void write_dot_node(std::ostream& to, graph::node_info const& node, std::size_t index) {
  to << "  n" << index << " [label=" << in_quotes(node.name + "\n" + std::string(node.op->name), '"') << "];\n";
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (node.operands[i] < 0) continue;
    auto const& s = node.op->slots[i];
    auto const label = " [label=" + in_quotes(s.name, '"') + (s.use == slot_use::update ? ", dir=both" : "") + "];\n";
    if (s.is_output())
      to << "  n" << index << " -> v" << node.operands[i] << label;
    else
      to << "  v" << node.operands[i] << " -> n" << index << label;
  }
}

} // namespace

std::string to_text(graph const& g) {
  std::ostringstream text;
  text << "graph " << in_quotes(g.name(), '\'') << '\n';
  for (auto const& axis : g.live_axes())
    text << "live " << in_quotes(axis.name, '\'') << " <=" << axis.capacity << '\n';
  for (auto const& v : g.values())
    if (v.kind < value_kind::result)
      text << name_of(v.kind) << ' ' << in_quotes(v.labels.name, '\'') << ' ' << type_and_shape(v) << '\n';
  for (auto const& node : g.nodes()) write_node(text, g, node);
  return text.str();
}

std::string to_dot(graph const& g) {
  std::ostringstream text;
  text << "digraph " << in_quotes(g.name(), '"') << " {\n";
  for (std::size_t i = 0; i < g.values().size(); ++i) write_dot_value(text, g, i);
  for (std::size_t i = 0; i < g.nodes().size(); ++i) write_dot_node(text, g.nodes()[i], i);
  text << "}\n";
  return text.str();
}

} // namespace mk
