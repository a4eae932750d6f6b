#pragma once

/// The control warp: waits for submissions, decodes a worker's records ahead of time.

#include <megakernels/runtime/device/ring.hpp>
#include <megakernels/runtime/device/task_queue.hpp>
#include <megakernels/tylo/lane/memory.hpp>
#include <megakernels/tylo/lane/thread.hpp>

#include <cstring>

namespace mk::device {

class control_role {
public:
  TYLO_FN control_role(kernel_arguments const& arguments, task_queue* queue)
      : a_(arguments), queue_(queue), lane_(tylo::lane_rank()) {}

  /// All lanes of one warp.
  TYLO_FN void run() {
    auto step = tylo::load_acquire(&a_.state->steps_done.value);
    auto submission = a_.first_submission;
    for (bool going = true; going; ++submission) {
      if (!await_submission(submission, step)) break;
      auto const* const slot = a_.slots + std::size_t(submission % a_.slot_count) * a_.slot_bytes;
      auto const& header = *reinterpret_cast<submission_header const*>(slot);
      for (std::uint32_t i = 0; going && i < header.steps; ++i, ++step) {
        going = i == 0 || await_step(step);
        if (going) going = decode_step(header, slot, step, i);
      }
      if (a_.mode == kernel_mode::launch) break;
    }
    auto& last = next_slot();
    if (lane_ == 0) last.operation = end_of_kernel;
    publish();
    if (tylo::cta_rank() == 0 && lane_ == 0) tylo::store_release_system(&a_.mail->exited.value, 1u);
  }

private:
  TYLO_FN bool aborted() { return tylo::load_relaxed(&a_.state->abort.value) != 0; }

  /// False where the kernel ends instead. All lanes get the same answer.
  TYLO_FN bool await_submission(std::uint32_t submission, std::uint32_t step) {
    // Launches behind one that was aborted must not report waits of their own.
    if (a_.mode == kernel_mode::launch) return !tylo::any_lane(lane_ == 0 && aborted());
    return tylo::cta_rank() == 0 ? fetch_submission(submission, step) : await_step(step);
  }

  TYLO_FN bool await_step(std::uint32_t step) {
    std::uint32_t begins = 0;
    if (lane_ == 0)
      for (unsigned ns = 20;; tylo::pause_ns(ns), ns = ns < 500 ? ns + 20 : ns) {
        begins = static_cast<std::int32_t>(tylo::load_acquire(&a_.state->ready_steps.value) - step) > 0;
        if (begins != 0 || tylo::load_relaxed(&a_.state->exit.value) != 0 || aborted()) break;
      }
    begins = tylo::shuffle(begins, 0);
    tylo::sync_warp(); // what lane 0 acquired is visible to all
    return begins != 0;
  }

  /// Worker 0: waits until the step before has ended and the host has written a submission, copies its slot to device
  /// memory and lets the other workers begin.
  TYLO_FN bool fetch_submission(std::uint32_t submission, std::uint32_t step) {
    std::uint32_t begins = 0;
    if (lane_ == 0) begins = await_doorbell(submission, step);
    begins = tylo::shuffle(begins, 0);
    tylo::sync_warp(); // what lane 0 acquired is visible to all
    if (begins == 0) {
      if (lane_ == 0) tylo::store_relaxed(&a_.state->exit.value, 1u);
      return false;
    }
    struct alignas(16) chunk {
      std::uint64_t words[2];
    };
    auto const at = std::size_t(submission % a_.slot_count) * a_.slot_bytes;
    auto const* const from = reinterpret_cast<chunk const*>(a_.host_slots + at);
    auto* const to = reinterpret_cast<chunk*>(a_.slots + at);
    auto const chunks = reinterpret_cast<submission_header const*>(a_.host_slots + at)->bytes / sizeof(chunk);
    for (auto i = lane_; i < chunks; i += tylo::warp_size) to[i] = from[i];
    tylo::sync_warp();
    if (lane_ == 0) tylo::store_release(&a_.state->ready_steps.value, step + 1);
    return true;
  }

  TYLO_FN std::uint32_t await_doorbell(std::uint32_t submission, std::uint32_t step) {
    auto idle_since = tylo::clock_ns();
    for (unsigned ns = 0; !aborted(); tylo::pause_ns(ns)) {
      bool const free = static_cast<std::int32_t>(tylo::load_acquire(&a_.state->steps_done.value) - step) >= 0;
      auto const written = tylo::load_acquire_system(&a_.mail->doorbell.value);
      if (free && static_cast<std::int32_t>(written - submission) > 0) return 1;
      auto const now = tylo::clock_ns();
      if (!free) {
        idle_since = now;
        continue;
      }
      if (tylo::load_acquire_system(&a_.mail->exit_request.value) != 0 || now - idle_since > a_.idle_ns) return 0;
      ns = now - idle_since > 1000000 ? 1000 : 0; // back off after a millisecond without work
    }
    return 0;
  }

  /// All records of this worker, and the end of the step. False where the kernel was aborted.
  TYLO_FN bool decode_step(submission_header const& header, std::byte const* slot, std::uint32_t step,
                           std::uint32_t repeat) {
    auto const& program = *header.program;
    auto const multiple = tylo::load_acquire(program.epoch) + 1;
    auto const worker = tylo::cta_rank();
    auto const range = worker < program.worker_count ? program.workers[worker] : image_worker{0, 0};
    for (auto index = range.first; index != range.first + range.count; ++index) {
      auto& to = next_slot();
      decode(program, header, slot, index, multiple, to);
      bool const stop = tylo::any_lane(lane_ == 0 && aborted());
      publish();
      if (stop) return false;
    }
    auto& to = next_slot();
    if (lane_ == 0) {
      to.operation = end_of_step;
      to.step = step;
      to.repeat = repeat;
      to.multiple = multiple;
      to.program = &program;
      to.submission = &header;
      to.wait_count = 0;
    }
    publish();
    return true;
  }

  TYLO_FN decoded_task& next_slot() {
    tylo::wait(&queue_->done[cursor_.slot], cursor_.lap ^ 1u);
    return queue_->slots[cursor_.slot];
  }

  TYLO_FN void publish() {
    tylo::sync_warp();
    if (lane_ == 0) tylo::arrive(&queue_->decoded[cursor_.slot]);
    cursor_.step();
  }

  /// The lanes share operands and arguments; lane 0 takes the rest.
  TYLO_FN void decode(program_image const& program, submission_header const& header, std::byte const* slot,
                      std::uint32_t index, std::uint32_t multiple, decoded_task& to) {
    auto const& r = program.records[index];
    auto const& node = program.nodes[r.node];
    auto const* const live = reinterpret_cast<std::int64_t const*>(slot + header.live);
    decode_operands(program, node, reinterpret_cast<std::byte* const*>(slot + header.addresses), live, to);
    for (auto i = lane_; i < node.argument_bytes; i += tylo::warp_size)
      to.arguments[i] = program.arguments[node.first_argument + i];
    if (lane_ != 0) return;
    to.operation = node.operation;
    to.record = index;
    to.multiple = multiple;
    to.program = &program;
    to.submission = &header;
    to.wait_count = r.wait_count;
    to.waits = r.wait_count <= 2 ? r.wait : program.overflow + r.wait[0];
    to.pages_in_flight = r.pages_in_flight;
    to.signal_count = index == a_.drop_signal ? 0 : r.signal_count;
    to.signals = r.signal_count <= 1 ? &r.signal : program.overflow + r.signal;
    decode_grid(r, node, live, to);
  }

  /// Makes the views that `view_of` makes: a lane takes one axis of one operand at a time, which needs few registers.
  TYLO_FN void decode_operands(program_image const& program, image_node const& node, std::byte* const* addresses,
                               std::int64_t const* live, decoded_task& to) {
    auto const* const tensors = program.operands + node.first_operand;
    for (auto i = lane_; i < node.operand_count * max_rank; i += tylo::warp_size) {
      auto const axis = i % max_rank;
      auto const tensor = tensors[i / max_rank];
      auto& view = to.operands[i / max_rank];
      if (tensor < 0) {
        if (axis == 0) view = tensor_view{};
      } else {
        decode_axis(program.tensors[tensor], axis, addresses, live, view);
      }
    }
    auto const tensor = lane_ < node.operand_count ? tensors[lane_] : -1;
    auto const constants = tylo::lanes_where(tensor >= 0 && program.tensors[tensor].constant != 0);
    if (lane_ == 0) to.constants = constants;
  }

  TYLO_FN void decode_axis(image_tensor const& t, std::uint32_t axis, std::byte* const* addresses,
                           std::int64_t const* live, tensor_view& view) {
    auto const& e = t.desc.extents[axis];
    bool const exists = static_cast<std::int32_t>(axis) < t.desc.rank;
    view.extents[axis] = !exists ? 0 : e.is_live() ? live[e.live] : e.capacity;
    view.strides[axis] = t.desc.strides[axis];
    if (axis != 0) return;
    view.data = addresses[t.buffer] + t.offset;
    view.type = t.desc.type;
    view.rank = t.desc.rank;
  }

  TYLO_FN void decode_grid(record const& r, image_node const& node, std::int64_t const* live, decoded_task& to) {
    auto const rows = node.live_rows >= 0 ? live[node.live_rows] : node.rows;
    auto const cut = [](std::int64_t tiles, std::int64_t size, std::int64_t limit) {
      auto const at = tiles * size;
      return at < limit ? at : limit;
    };
    to.grid.row_begin = cut(r.row_first, node.tile_rows, rows);
    to.grid.row_end = cut(r.row_last, node.tile_rows, rows);
    to.grid.column_begin = cut(r.column_tile, node.tile_columns, node.columns);
    to.grid.column_end = cut(std::int64_t(r.column_tile) + 1, node.tile_columns, node.columns);
    to.empty = to.grid.row_begin >= to.grid.row_end;
  }

  kernel_arguments const& a_;
  task_queue* queue_;
  unsigned lane_;
  queue_cursor cursor_;
};

} // namespace mk::device
