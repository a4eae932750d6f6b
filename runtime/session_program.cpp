#include <megakernels/runtime/internal/copy.hpp>
#include <megakernels/runtime/internal/session_core.hpp>

namespace mk::detail {
namespace {

std::string text_of(tensor_view const& view) {
  std::string text(name_of(view.type));
  text += " [";
  for (int axis = 0; axis < view.rank; ++axis) text += (axis > 0 ? ", " : "") + std::to_string(view.extent(axis));
  return text + "]";
}

} // namespace

std::unique_ptr<session_program> analyse(program&& p, operation_table const& table) {
  auto loaded = std::make_shared<loaded_program>();
  loaded->program = std::move(p);
  auto result = std::make_unique<session_program>();
  auto const& plan = loaded->program;
  for (std::uint32_t n = 0; n < plan.nodes.size(); ++n) {
    auto const& node = plan.nodes[n];
    auto const& op = table.operations[node.operation];
    loaded->operations.push_back(&op);
    loaded->work.push_back(op.work(node.arguments.data(), operands_of(plan, node)));
    if (op.check != nullptr) result->checked_nodes.push_back(n);
  }
  for (std::uint32_t axis = 0; axis < plan.live_axes.size(); ++axis)
    result->live_axes.emplace(plan.live_axes[axis].name, axis);
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) switch (plan.buffers[b].kind) {
    case buffer_kind::workspace:
      break;
    case buffer_kind::input:
    case buffer_kind::output:
    case buffer_kind::step:
      result->brought.push_back(b);
      [[fallthrough]];
    default:
      result->buffers.emplace(plan.buffers[b].name, b);
    }
  result->loaded = std::move(loaded);
  return result;
}

tensor_view at_capacity(tensor_desc const& desc) {
  tensor_view view{.data = nullptr, .type = desc.type, .rank = desc.rank, .extents = {}, .strides = desc.strides};
  for (std::size_t axis = 0; axis < max_rank; ++axis) view.extents[axis] = desc.extents[axis].capacity;
  return view;
}

std::string misfit(tensor_view const& expected, tensor_view const& found) {
  if (!found.present()) return "is absent, expected " + text_of(expected);
  bool same = found.type == expected.type && found.rank == expected.rank;
  for (int axis = 0; same && axis < expected.rank; ++axis) same = found.extent(axis) == expected.extent(axis);
  if (!same) return "is " + text_of(found) + ", expected " + text_of(expected);
  if (elements_of(expected) == 0) return {};
  for (int axis = 0; axis < expected.rank; ++axis)
    if (expected.extent(axis) > 1 && found.stride(axis) != expected.stride(axis))
      return "has stride " + std::to_string(found.stride(axis)) + " on axis " + std::to_string(axis) + ", expected " +
             std::to_string(expected.stride(axis)) + " elements";
  return {};
}

} // namespace mk::detail
