#pragma once

/// What a handler sees of the worker that runs it. `load` runs on one thread and fills the ring ahead of time;
/// `compute` runs on all consumer threads and empties it. Both walk the same spans in the same order. `load` runs ahead
/// of what the task waits for: it may only copy operands that are `constant`.

#include <megakernels/ops/operation.hpp>
#include <megakernels/runtime/device/ring.hpp>
#include <megakernels/tylo/group.hpp>

namespace mk::device {

/// Fixed scratch of a worker, for sums and tables across warps.
inline constexpr std::uint32_t scratch_bytes = 8192;

class load_context {
public:
  TYLO_FN load_context(ring_writer& ring, tensor_view const* operands, std::uint32_t constants, unsigned consumer_warps)
      : ring_(ring), operands_(operands), constants_(constants), consumer_warps_(consumer_warps) {}

  TYLO_FN tensor_view const& operand(int slot) const { return operands_[slot]; }
  /// Whether the operand lies in memory that no task ever writes. The same for `load` and `compute`.
  TYLO_FN bool constant(int slot) const { return (constants_ >> slot & 1u) != 0; }
  static constexpr std::uint32_t page_bytes = device::page_bytes;
  static constexpr std::uint32_t most_span_pages = device::most_span_pages;
  static constexpr std::uint32_t ring_pages = device::ring_pages;

  /// `Context::warps` of `compute`.
  TYLO_FN unsigned consumer_warps() const { return consumer_warps_; }

  /// Pages for `compute` to use as it likes; it takes them by `wait_lent`.
  TYLO_FN void lend_pages(std::uint32_t pages) { ring_.lend(pages); }

  TYLO_FN std::byte* acquire_span(std::uint32_t pages, std::uint32_t bytes) { return ring_.acquire(pages, bytes); }
  TYLO_FN void copy(std::byte* to, std::byte const* from, std::uint32_t bytes) { ring_.copy(to, from, bytes); }

private:
  ring_writer& ring_;
  tensor_view const* operands_;
  std::uint32_t constants_;
  unsigned consumer_warps_;
};

template <unsigned Threads> class compute_context {
public:
  TYLO_FN compute_context(ring_reader& ring, tensor_view const* operands, std::uint32_t constants, std::byte* scratch,
                          unsigned thread)
      : ring_(ring), operands_(operands), constants_(constants), scratch_(scratch), thread_(thread) {}

  TYLO_FN tensor_view const& operand(int slot) const { return operands_[slot]; }
  /// Whether the operand lies in memory that no task ever writes. The same for `load` and `compute`.
  TYLO_FN bool constant(int slot) const { return (constants_ >> slot & 1u) != 0; }
  static constexpr std::uint32_t page_bytes = device::page_bytes;
  static constexpr std::uint32_t most_span_pages = device::most_span_pages;
  static constexpr std::uint32_t ring_pages = device::ring_pages;

  /// The threads that share the task, and the place of this one among them.
  static constexpr unsigned threads = Threads;
  static constexpr unsigned warps = Threads / tylo::warp_size;
  TYLO_FN unsigned thread() const { return thread_; }
  TYLO_FN unsigned warp() const { return thread_ / tylo::warp_size; }
  TYLO_FN unsigned lane() const { return thread_ % tylo::warp_size; }

  /// The same as a group. Barriers from `free_barrier` on, up to 15, are the handler's own.
  TYLO_FN tylo::warps<warps> group() const { return {tylo::thread_rank() / tylo::warp_size - warp(), 1}; }
  static constexpr unsigned free_barrier = 2;

  /// All threads of the task have arrived, and see each other's earlier writes.
  TYLO_FN void sync(tylo::site at = tylo::site::here()) { group().sync(at); }

  TYLO_FN std::byte const* wait_span(std::uint32_t pages, tylo::site at = tylo::site::here()) {
    return ring_.wait_span(pages, at);
  }
  TYLO_FN void release_span(std::uint32_t pages, tylo::site at = tylo::site::here()) { ring_.release_span(pages, at); }

  /// Pages of the ring to use, as many as `load` lends in all, in rounds: up to all pages of the ring may be held. Who
  /// wrote to a page calls `tylo::fence_async_proxy` before it is released to another task.
  TYLO_FN void wait_lent(std::uint32_t pages, tylo::site at = tylo::site::here()) { ring_.wait_lent(pages, at); }
  /// The page that was waited for `ahead` pages after the oldest that is held.
  TYLO_FN std::byte* held_page(std::uint32_t ahead) const { return const_cast<std::byte*>(ring_.held_page(ahead)); }
  TYLO_FN void release_lent(std::uint32_t pages, tylo::site at = tylo::site::here()) { ring_.release_lent(pages, at); }

  /// Shared memory of the task, `scratch_bytes`; contents are unspecified at its start.
  template <class T> TYLO_FN T* scratch() { return reinterpret_cast<T*>(scratch_); }

private:
  ring_reader& ring_;
  tensor_view const* operands_;
  std::uint32_t constants_;
  std::byte* scratch_;
  unsigned thread_;
};

} // namespace mk::device
