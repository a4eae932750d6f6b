#pragma once

/// Shared scratch of a worker: a first-in first-out ring of pages between the loader and the consumers. It knows
/// nothing of tasks. A span is 1 to 4 contiguous pages; where it would cross the end, both sides skip to the start.
/// Every page of every lap goes through both of its barriers, skipped or not, so that a waiter is never two phases off.

#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/thread.hpp>

#include <cstddef>
#include <cstdint>

namespace mk::device {

inline constexpr std::uint32_t page_bytes = 16384;
inline constexpr std::uint32_t ring_pages = 12;
inline constexpr std::uint32_t most_span_pages = 4;

struct ring_barriers {
  tylo::mbarrier full[ring_pages];  ///< the loader has filled or skipped the page
  tylo::mbarrier empty[ring_pages]; ///< every consumer warp has released it
};

/// A place in the ring, for either side.
struct ring_cursor {
  std::uint32_t page = 0;
  std::uint32_t lap = 0; ///< parity of the number of laps

  TYLO_FN void step() {
    if (++page < ring_pages) return;
    page = 0;
    lap ^= 1u;
  }
  TYLO_FN bool crosses_end(std::uint32_t pages) const { return page + pages > ring_pages; }
};

/// The loader's side; used by one thread.
class ring_writer {
public:
  TYLO_FN ring_writer(ring_barriers* barriers, std::byte* pages) : barriers_(barriers), pages_(pages) {}

  /// Most pages that have been asked for and have not landed, unless one span alone has more.
  std::uint32_t in_flight = 4;

  /// Waits until a span is free and announces the bytes that will be copied to it.
  TYLO_FN std::byte* acquire(std::uint32_t pages, std::uint32_t bytes) {
    while (cursor_.crosses_end(pages)) lend(1);
    make_room(pages);
    auto* const start = pages_ + std::size_t(cursor_.page) * page_bytes;
    done_ = &barriers_->full[cursor_.page];
    for (std::uint32_t i = 0; i < pages; ++i) take_page(i == 0 ? bytes : 0);
    return start;
  }

  /// Waits until so many pages are free, one after another, and gives them to the consumers as they are.
  TYLO_FN void lend(std::uint32_t pages) {
    for (; pages > 0; --pages) {
      make_room(1);
      take_page(0);
    }
  }

  /// Starts a copy into the span that was acquired last. Addresses and size are multiples of 16 bytes.
  TYLO_FN void copy(std::byte* to, std::byte const* from, std::uint32_t bytes) {
    tylo::bulk_load(to, from, bytes, done_);
  }

  /// Waits until all that was asked for has landed: a CTA must not end before.
  TYLO_FN void drain() {
    for (; asked_ > 0; --asked_) wait_landed(asked_);
  }

private:
  TYLO_FN void make_room(std::uint32_t pages) {
    for (; asked_ > 0 && asked_ + pages > in_flight; --asked_) wait_landed(asked_);
  }

  TYLO_FN void take_page(std::uint32_t bytes) {
    tylo::wait(&barriers_->empty[cursor_.page], cursor_.lap ^ 1u);
    if (bytes > 0)
      tylo::arrive_expecting(&barriers_->full[cursor_.page], bytes);
    else
      tylo::arrive(&barriers_->full[cursor_.page]);
    cursor_.step();
    ++asked_;
  }

  /// The page that was taken `back` pages ago has landed.
  TYLO_FN void wait_landed(std::uint32_t back) {
    bool const this_lap = cursor_.page >= back;
    tylo::wait(&barriers_->full[this_lap ? cursor_.page - back : cursor_.page + ring_pages - back],
               this_lap ? cursor_.lap : cursor_.lap ^ 1u);
  }

  ring_barriers* barriers_;
  std::byte* pages_;
  ring_cursor cursor_;
  tylo::mbarrier* done_ = nullptr;
  std::uint32_t asked_ = 0; ///< pages that may not have landed: the last so many
};

/// The consumers' side; every thread of every consumer warp has one, and all make the same calls.
class ring_reader {
public:
  TYLO_FN ring_reader(ring_barriers* barriers, std::byte const* pages) : barriers_(barriers), pages_(pages) {}

  /// Waits for the next span. Several may be held; they are released in the order in which they were waited for.
  TYLO_FN std::byte const* wait_span(std::uint32_t pages, tylo::site at = tylo::site::here()) {
    while (next_.crosses_end(pages)) wait_lent(1, at);
    auto const* const start = pages_ + std::size_t(next_.page) * page_bytes;
    wait_lent(pages, at);
    return start;
  }

  /// The warp is done with the oldest span that it holds, which has so many pages.
  TYLO_FN void release_span(std::uint32_t pages, tylo::site at = tylo::site::here()) {
    tylo::sync_warp();
    while (held_.crosses_end(pages)) release_page(at);
    for (; pages > 0; --pages) release_page(at);
  }

  /// Waits for so many lent pages. They are a round; at the end of the ring it goes on at the start.
  TYLO_FN void wait_lent(std::uint32_t pages, tylo::site at = tylo::site::here()) {
    for (; pages > 0; --pages) {
      tylo::wait(&barriers_->full[next_.page], next_.lap, at);
      next_.step();
    }
  }

  /// A page of those that are held, `ahead` pages after the oldest.
  TYLO_FN std::byte const* held_page(std::uint32_t ahead) const {
    auto const page = held_.page + ahead;
    return pages_ + std::size_t(page < ring_pages ? page : page - ring_pages) * page_bytes;
  }

  /// The warp is done with the oldest pages that it holds.
  TYLO_FN void release_lent(std::uint32_t pages, tylo::site at = tylo::site::here()) {
    tylo::sync_warp();
    for (; pages > 0; --pages) release_page(at);
  }

private:
  TYLO_FN void release_page(tylo::site at) {
    if (tylo::lane_rank() == 0) tylo::arrive(&barriers_->empty[held_.page], at);
    held_.step();
  }

  ring_barriers* barriers_;
  std::byte const* pages_;
  ring_cursor next_; ///< to wait for
  ring_cursor held_; ///< to release
};

} // namespace mk::device
