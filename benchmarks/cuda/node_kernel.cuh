#pragma once

/// One node of a program as a kernel of its own: the same handler, contexts and ring as the persistent kernel, and the
/// same program image and submission slot, so that the same bits come out. A CTA takes a task at a time; there are no
/// counters, since kernels follow each other in the order of the graph's nodes.
///
/// Kernels overlap by programmatic dependent launch. What no kernel writes is read before the kernel ahead has ended:
/// the program, and by the loader the weights, which so fill the ring while the kernel ahead finishes.

#include <megakernels/ops/handler.hpp>
#include <megakernels/runtime/device/context.hpp>
#include <megakernels/runtime/device/layout.hpp>
#include <megakernels/tylo/lane/dependent_launch.hpp>

#include "node_kernels.hpp"

namespace mk::bench {

struct node_memory {
  std::byte pages[device::ring_pages][device::page_bytes];
  alignas(128) std::byte scratch[device::scratch_bytes];
  device::ring_barriers ring;
  tensor_view operands[device::most_operands];
  alignas(8) std::byte arguments[device::most_argument_bytes];
  std::uint32_t constants; ///< bit i: operand i lies in a buffer of kind constant
};

inline constexpr unsigned warpgroup_threads = 128;
template <unsigned Groups> inline constexpr unsigned consumer_threads = Groups * warpgroup_threads;
/// The consumers, then one warp for the loader.
template <unsigned Groups> inline constexpr unsigned node_threads = consumer_threads<Groups> + tylo::warp_size;

/// All threads call it: fills in `operands`, `arguments` and `constants`.
TYLO_FN inline void decode_node(node_arguments const& a, node_memory& memory, unsigned thread) {
  auto const& node = a.program->nodes[a.node];
  auto const& header = *reinterpret_cast<device::submission_header const*>(a.slot);
  auto const* const live = reinterpret_cast<std::int64_t const*>(a.slot + header.live);
  if (thread >= tylo::warp_size) return;
  for (auto i = thread; i < node.argument_bytes; i += tylo::warp_size)
    memory.arguments[i] = a.program->arguments[node.first_argument + i];
  auto const tensor = thread < node.operand_count ? a.program->operands[node.first_operand + thread] : -1;
  auto const constants = tylo::lanes_where(tensor >= 0 && a.program->tensors[tensor].constant != 0);
  if (thread == 0) memory.constants = constants;
  if (thread >= node.operand_count) return;
  auto& view = memory.operands[thread];
  view = tensor_view{};
  if (tensor < 0) return;
  auto const& t = a.program->tensors[tensor];
  view.data = reinterpret_cast<std::byte* const*>(a.slot + header.addresses)[t.buffer] + t.offset;
  view.type = t.desc.type;
  view.rank = t.desc.rank;
  for (std::int32_t axis = 0; axis < max_rank; ++axis) { // what view_of does, without an array in registers
    auto const& e = t.desc.extents[static_cast<std::size_t>(axis)];
    view.extents[static_cast<std::size_t>(axis)] = axis >= t.desc.rank ? 0 : e.is_live() ? live[e.live] : e.capacity;
    view.strides[static_cast<std::size_t>(axis)] = t.desc.strides[static_cast<std::size_t>(axis)];
  }
}

/// A CTA's tasks, cut to the live rows.
class node_tasks {
public:
  TYLO_FN explicit node_tasks(node_arguments const& a) : a_(a), node_(a.program->nodes[a.node]) {
    auto const& header = *reinterpret_cast<device::submission_header const*>(a.slot);
    auto const* const live = reinterpret_cast<std::int64_t const*>(a.slot + header.live);
    rows_ = node_.live_rows >= 0 ? live[node_.live_rows] : node_.rows;
  }

  template <class F> TYLO_FN void for_each(F&& run) const {
    for (auto i = tylo::cta_rank(); i < a_.record_count; i += tylo::cta_count()) {
      auto const& r = a_.program->records[a_.records[i]];
      task const t{.row_begin = cut(r.row_first, node_.tile_rows, rows_),
                   .row_end = cut(r.row_last, node_.tile_rows, rows_),
                   .column_begin = cut(r.column_tile, node_.tile_columns, node_.columns),
                   .column_end = cut(std::int64_t(r.column_tile) + 1, node_.tile_columns, node_.columns)};
      if (t.row_begin < t.row_end) run(t);
    }
  }

private:
  static TYLO_FN std::int64_t cut(std::int64_t tiles, std::int64_t size, std::int64_t limit) {
    return tiles * size < limit ? tiles * size : limit;
  }

  node_arguments const& a_;
  device::image_node const& node_;
  std::int64_t rows_;
};

template <class Op, unsigned Groups>
__global__ void __launch_bounds__(node_threads<Groups>, 1) node_kernel(node_arguments const a) {
  constexpr auto consumers = consumer_threads<Groups>;
  auto& memory = *reinterpret_cast<node_memory*>(tylo::shared_memory());
  auto const thread = tylo::thread_rank();
  // At the very start: the next kernel's loaders may fill rings of multiprocessors that this kernel leaves free.
  tylo::let_next_kernel_start();
  decode_node(a, memory, thread);
  if (thread == 0) {
    for (auto& b : memory.ring.full) tylo::init(&b, 1);
    for (auto& b : memory.ring.empty) tylo::init(&b, consumers / tylo::warp_size);
    tylo::publish_barriers();
  }
  tylo::sync_cta();

  auto const& arguments = *reinterpret_cast<typename Op::arguments const*>(memory.arguments);
  if (thread < consumers) {
    tylo::await_kernel_ahead();
    device::ring_reader ring(&memory.ring, memory.pages[0]);
    node_tasks(a).for_each([&](task const& t) {
      device::compute_context<consumers> context(ring, memory.operands, memory.constants, memory.scratch, thread);
      handler<Op>::compute(context, arguments, t);
      tylo::sync_named(1, consumers);
    });
  } else if (thread == consumers) {
    device::ring_writer ring(&memory.ring, memory.pages[0]);
    ring.in_flight = record{}.pages_in_flight;
    node_tasks(a).for_each([&](task const& t) {
      device::load_context context(ring, memory.operands, memory.constants, consumers / tylo::warp_size);
      if constexpr (requires { handler<Op>::load(context, arguments, t); }) handler<Op>::load(context, arguments, t);
    });
    ring.drain();
  }
}

} // namespace mk::bench
