#include <megakernels/ops/error.hpp>
#include <megakernels/scheduler/program/program.hpp>

#include <algorithm>

namespace mk {

std::string_view name_of(buffer_kind kind) {
  constexpr std::string_view names[] = {"constant", "state", "input", "output", "step", "workspace"};
  auto const at = static_cast<std::uint32_t>(kind);
  return at < std::size(names) ? names[at] : std::string_view("unknown");
}

std::span<std::uint32_t const> waits_of(program const& p, record const& r) {
  if (r.wait_count <= 2) return std::span<std::uint32_t const>(r.wait).first(r.wait_count);
  return std::span<std::uint32_t const>(p.overflow).subspan(r.wait[0], r.wait_count);
}

std::span<std::uint32_t const> signals_of(program const& p, record const& r) {
  if (r.signal_count <= 1) return std::span<std::uint32_t const>(&r.signal, r.signal_count);
  return std::span<std::uint32_t const>(p.overflow).subspan(r.signal, r.signal_count);
}

std::vector<tensor_desc> operands_of(program const& p, program::node const& node) {
  std::vector<tensor_desc> result;
  result.reserve(node.operands.size());
  for (auto index : node.operands)
    result.push_back(index < 0 ? absent : p.tensors[static_cast<std::size_t>(index)].desc);
  return result;
}

task task_of(program::node const& node, work_shape const& work, record const& r) {
  auto const cut = [](std::uint32_t tiles, std::int64_t tile, std::int64_t limit) {
    return std::min(static_cast<std::int64_t>(tiles) * tile, limit);
  };
  return {.row_begin = cut(r.row_first, node.tile_rows, work.rows.capacity),
          .row_end = cut(r.row_last, node.tile_rows, work.rows.capacity),
          .column_begin = cut(r.column_tile, node.tile_columns, work.columns),
          .column_end = cut(r.column_tile + 1, node.tile_columns, work.columns)};
}

std::uint64_t span_bytes(tensor_desc const& desc) {
  __extension__ using wide = __int128;
  constexpr wide limit = wide(1) << 62;
  auto const rank = static_cast<std::size_t>(desc.rank);
  wide elements = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    auto const capacity = desc.extents[i].capacity;
    if (capacity < 0 || desc.strides[i] < 0)
      throw program_error("tensor with a negative extent or stride on axis " + std::to_string(i));
    elements += wide(capacity > 0 ? capacity - 1 : 0) * desc.strides[i];
    if (elements * tylo::bytes_of(desc.type) > limit)
      throw program_error("tensor of more than 2^62 bytes, from axis " + std::to_string(i));
  }
  for (std::size_t i = 0; i < rank; ++i)
    if (desc.extents[i].capacity == 0) return 0;
  return static_cast<std::uint64_t>(elements * tylo::bytes_of(desc.type));
}

} // namespace mk
