#include <megakernels/runtime/emulated/internal/task_watch.hpp>
#include <megakernels/runtime/internal/copy.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace mk::emulated {
namespace {

std::uint64_t bytes_between(void const* from, void const* to) {
  return reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
}

using coordinates = std::array<std::int64_t, max_rank>;

/// The coordinates of the element `index` elements behind the first; false where none lies there.
bool find_element(operand_place const& o, std::int64_t index, coordinates& at) {
  at = {};
  for (auto const axis : o.axes) {
    at[axis] = std::min(index / o.view.strides[axis], o.view.extents[axis] - 1);
    index -= at[axis] * o.view.strides[axis];
  }
  return index == 0;
}

/// How many elements from this one on lie in the box, one after another; 0 where it does not.
std::int64_t run_in(box const& b, operand_place const& o, coordinates const& at) {
  for (std::size_t i = 0; i < max_rank; ++i)
    if (at[i] < b.begin[i] || at[i] >= b.end[i]) return 0;
  if (o.axes.empty() || o.view.strides[o.axes.back()] != 1) return 1;
  return b.end[o.axes.back()] - at[o.axes.back()];
}

/// Elements of an operand that an access touches.
struct touched {
  std::int64_t first, end;
};

/// False where it touches none that the operand could have.
bool elements_of_access(operand_place const& o, void const* address, std::size_t bytes, touched& elements) {
  auto const from = bytes_between(o.view.data, address);
  if (from >= o.bytes) return false;
  auto const size = static_cast<std::uint64_t>(bytes_of(o.view.type));
  elements = {static_cast<std::int64_t>(from / size), static_cast<std::int64_t>((from + bytes + size - 1) / size)};
  return true;
}

std::string text_of(box const& b, std::int32_t rank) {
  std::string text = "[";
  for (std::int32_t i = 0; i < rank; ++i) {
    auto const axis = static_cast<std::size_t>(i);
    text += (i > 0 ? ", " : "") + std::to_string(b.begin[axis]) + " to " + std::to_string(b.end[axis]);
  }
  return text + "]";
}

/// As a region of the operand would have to be described: with live lengths as they are.
tensor_desc described(tensor_view const& t) {
  if (!t.present()) return absent;
  tensor_desc desc{.type = t.type, .rank = t.rank, .extents = {}, .strides = t.strides};
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.rank); ++i) desc.extents[i].capacity = t.extents[i];
  return desc;
}

} // namespace

operand_place::operand_place(tensor_view const& of) : view(of) {
  if (of.present() && of.data != nullptr) bytes = detail::span_bytes_of(of);
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::max(of.rank, 0)); ++i)
    if (of.extents[i] > 1 && of.strides[i] > 0) axes.push_back(i);
  std::sort(axes.begin(), axes.end(), [&](auto a, auto b) { return of.strides[a] > of.strides[b]; });
}

task_accesses::task_accesses(operation const& op, device::decoded_task const& t)
    : operation_(op), program_(t.program), record_(t.record), multiple_(t.multiple) {
  std::vector<tensor_desc> descriptions;
  for (auto const& view : std::span(t.operands, op.slots.size())) {
    operands_.emplace_back(view);
    descriptions.push_back(described(view));
  }
  region_list list(descriptions);
  op.regions(t.arguments, descriptions, t.grid, list);
  regions_ = std::move(list.regions);
}

bool task_accesses::include(void const* address, std::size_t bytes, bool write) const {
  for (auto const& r : regions_) {
    auto const& o = operands_[static_cast<std::size_t>(r.operand)];
    touched elements{};
    if (r.write != write || !elements_of_access(o, address, bytes, elements)) continue;
    coordinates at{};
    auto next = elements.first;
    while (next < elements.end && find_element(o, next, at)) {
      auto const run = run_in(r.where, o, at);
      if (run == 0) break;
      next += run;
    }
    if (next >= elements.end) return true;
  }
  return false;
}

std::string task_accesses::why_not(void const* address, std::size_t bytes, bool write) const {
  auto const does = write ? "writes" : "reads";
  for (std::size_t o = 0; o < operands_.size(); ++o) {
    auto const& t = operands_[o].view;
    touched elements{};
    if (!elements_of_access(operands_[o], address, bytes, elements)) continue;
    coordinates at{};
    bool const exists = find_element(operands_[o], elements.first, at);
    auto text = "in operand '" + std::string(operation_.slots[o].name) + "', ";
    if (!exists) return text + "between its elements";
    text += "element [";
    for (std::int32_t i = 0; i < t.rank; ++i)
      text += (i > 0 ? ", " : "") + std::to_string(at[static_cast<std::size_t>(i)]);
    text += "]; of it the regions of '" + std::string(operation_.name) + "' say that this task " + does;
    bool any = false;
    for (auto const& r : regions_) {
      if (static_cast<std::size_t>(r.operand) != o || r.write != write) continue;
      text += (any ? " and " : " ") + text_of(r.where, t.rank);
      any = true;
    }
    return any ? text : text + " nothing";
  }
  return "it is in no operand of the task";
}

std::shared_ptr<tylo::emulator::announced_accesses const> task_watch::accesses_of(void const* task) {
  auto const& t = *static_cast<device::decoded_task const*>(task);
  auto& known = of_slots_[task];
  if (known == nullptr || !known->are_of(t)) known = std::make_shared<task_accesses const>(operations_[t.operation], t);
  return known;
}

} // namespace mk::emulated
