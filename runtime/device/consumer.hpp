#pragma once

/// Loader and consumers: the two sides of every operation of a list.

#include <megakernels/ops/handler.hpp>
#include <megakernels/ops/operation_list.hpp>
#include <megakernels/runtime/device/context.hpp>
#include <megakernels/runtime/device/task_queue.hpp>
#include <megakernels/tylo/lane/memory.hpp>
#include <megakernels/tylo/lane/work.hpp>

#include <cstring>
#include <utility>

namespace mk::device {

/// Calls `f.template operator()<Op>()` for the operation of that index in the list.
template <class... Ops, class F> TYLO_FN void dispatch(operation_list<Ops...>, std::uint32_t index, F&& f) {
  std::uint32_t at = 0;
  (void)((index == at++ ? (f.template operator()<Ops>(), true) : false) || ...);
}

template <class Op> TYLO_FN typename Op::arguments const& arguments_of(decoded_task const& t) {
  static_assert(sizeof(typename Op::arguments) <= most_argument_bytes && Op::slots.size() <= most_operands);
  static_assert(alignof(typename Op::arguments) <= 8);
  return *reinterpret_cast<typename Op::arguments const*>(t.arguments);
}

/// One thread: fills the ring for task after task, as far ahead as the ring allows.
template <class List> TYLO_FN void run_loader(task_queue* queue, ring_writer ring, unsigned consumer_warps) {
  for (queue_cursor at;; at.step()) {
    tylo::wait(&queue->decoded[at.slot], at.lap);
    auto const& t = queue->slots[at.slot];
    if (t.operation == end_of_kernel) break;
    if (t.operation != end_of_step && !t.empty) {
      ring.in_flight = t.pages_in_flight < ring_pages ? t.pages_in_flight : ring_pages;
      load_context context(ring, t.operands, t.constants, consumer_warps);
      tylo::begin_work(&t);
      dispatch(List{}, t.operation, [&]<class Op>() {
        if constexpr (requires { handler<Op>::load(context, arguments_of<Op>(t), t.grid); })
          handler<Op>::load(context, arguments_of<Op>(t), t.grid);
      });
      tylo::end_work();
    }
    tylo::arrive(&queue->done[at.slot]);
  }
  ring.drain();
}

/// The last worker to end a step: the next step of the submission gets what it reads, and whoever waits is told.
TYLO_FN inline void finish_step(kernel_arguments const& a, decoded_task const& t) {
  auto const& header = *t.submission;
  auto const* const feeds =
      reinterpret_cast<step_feed const*>(reinterpret_cast<std::byte const*>(&header) + header.feeds);
  for (std::uint32_t f = 0; f < header.feed_count; ++f) {
    auto const& feed = feeds[f];
    for (std::uint32_t i = 0; i < feed.count; ++i) {
      auto const made = feed.from == nullptr ? feed.to[i] + feed.increment : feed.from[i];
      feed.to[i] = made;
      if (feed.history != nullptr) feed.history[std::size_t(t.repeat) * feed.count + i] = made;
    }
  }
  bool const last = t.repeat + 1 == header.steps;
  tylo::store_release(t.program->epoch, t.multiple);
  tylo::store_release(&a.state->steps_done.value, t.step + 1);
  if (!last)
    tylo::store_release(&a.state->ready_steps.value, t.step + 2);
  else
    tylo::store_release_system(&a.mail->completed.value, header.number + 1);
}

/// Arrives at the end of a step, of all workers of the kernel.
TYLO_FN inline void join(kernel_arguments const& a, decoded_task const& t) {
  auto const workers = tylo::cta_count();
  auto const before = tylo::add_acquire_release(&a.state->join.value, 1u);
  bool const last = before + 1 == workers * (t.step + 1);
  if (last && tylo::load_relaxed(&a.state->abort.value) == 0) finish_step(a, t);
}

/// All consumer threads: runs task after task, and tells those that wait for them.
template <class List, unsigned Threads>
TYLO_FN void run_consumers(kernel_arguments const& a, task_queue* queue, ring_reader ring, std::byte* scratch,
                           unsigned thread) {
  std::uint32_t tasks = 0;
  for (queue_cursor at;; at.step()) {
    tylo::wait(&queue->ready[at.slot], at.lap);
    auto const& t = queue->slots[at.slot];
    if (t.operation == end_of_kernel) break;
    if (t.operation != end_of_step && !t.empty) {
      compute_context<Threads> context(ring, t.operands, t.constants, scratch, thread);
      tylo::begin_work(&t);
      dispatch(List{}, t.operation, [&]<class Op>() { handler<Op>::compute(context, arguments_of<Op>(t), t.grid); });
      tylo::end_work();
    }
    tylo::sync_named(1, Threads);
    if (thread != 0) continue;
    if (t.operation == end_of_step)
      join(a, t);
    else
      for (std::uint32_t i = 0; i < t.signal_count; ++i) tylo::add_release(t.program->counters + t.signals[i], 1u);
    tylo::store_relaxed(&a.progress[tylo::cta_rank()].value, ++tasks);
    tylo::arrive(&queue->done[at.slot]);
  }
}

} // namespace mk::device
