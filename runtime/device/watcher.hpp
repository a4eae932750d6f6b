#pragma once

/// The watcher: the one thread of a worker that polls counters in global memory. Every wait is bounded.

#include <megakernels/runtime/device/ring.hpp>
#include <megakernels/runtime/device/task_queue.hpp>
#include <megakernels/tylo/lane/memory.hpp>
#include <megakernels/tylo/lane/thread.hpp>

namespace mk::device {

class watcher_role {
public:
  TYLO_FN watcher_role(kernel_arguments const& arguments, task_queue* queue)
      : a_(arguments), queue_(queue), worker_(tylo::cta_rank()) {}

  /// One thread.
  TYLO_FN void run() {
    for (bool going = true; going; cursor_.step()) {
      tylo::wait(&queue_->decoded[cursor_.slot], cursor_.lap);
      auto const& t = queue_->slots[cursor_.slot];
      going = t.operation != end_of_kernel;
      // After an abort tasks pass without their waits: handlers stay in their memory whatever they read, and so every
      // role comes to its end by the way that it always takes.
      if (going)
        for (std::uint32_t i = 0; i < t.wait_count; ++i) await(t, t.waits[i]);
      tylo::arrive(&queue_->ready[cursor_.slot]);
      tylo::arrive(&queue_->done[cursor_.slot]);
    }
  }

private:
  /// Polls between two looks at the clock and at the abort word.
  static constexpr unsigned polls = 64;

  TYLO_FN void await(decoded_task const& t, std::uint32_t counter) {
    auto* const word = t.program->counters + counter;
    auto const needed = t.program->expected[counter] * t.multiple;
    patience left;
    for (unsigned i = 1;; ++i) {
      auto const seen = tylo::load_relaxed(word);
      if (static_cast<std::int32_t>(seen - needed) >= 0) {
        (void)tylo::load_acquire(word); // once: an acquire empties the multiprocessor's first-level cache
        return;
      }
      if (i % polls != 0) continue;
      bool const others_gave_up = tylo::load_relaxed(&a_.state->abort.value) != 0;
      if (!others_gave_up && !ends(left)) continue;
      report(t, counter, seen, needed);
      if (!others_gave_up) raise_abort();
      return;
    }
  }

  /// When a wait last saw workers make progress.
  struct patience {
    std::uint64_t looked = 0;
    std::uint64_t moved = 0;
    std::uint32_t tasks = 0; ///< that all workers had done then
  };

  /// Whether no worker has finished a task for the bound. Looks at all workers eight times in that time.
  TYLO_FN bool ends(patience& p) {
    auto const now = tylo::clock_ns();
    if (p.looked != 0 && now - p.looked < a_.wait_ns / 8) return false;
    std::uint32_t tasks = 0;
    for (unsigned w = 0; w < tylo::cta_count(); ++w) tasks += tylo::load_relaxed(&a_.progress[w].value);
    if (p.looked == 0 || tasks != p.tasks) p.moved = now;
    p.looked = now;
    p.tasks = tasks;
    return now - p.moved >= a_.wait_ns;
  }

  TYLO_FN void report(decoded_task const& t, std::uint32_t counter, std::uint32_t seen, std::uint32_t needed) {
    auto& r = a_.reports[worker_];
    if (r.valid != 0) return;
    r.record = t.record;
    r.counter = counter;
    r.seen = seen;
    r.needed = needed;
    tylo::store_release_system(&r.valid, 1u);
  }

  TYLO_FN void raise_abort() {
    tylo::store_release(&a_.state->abort.value, 1u);
    tylo::store_release_system(&a_.mail->aborted.value, 1u);
  }

  kernel_arguments const& a_;
  task_queue* queue_;
  unsigned worker_;
  queue_cursor cursor_;
};

} // namespace mk::device
