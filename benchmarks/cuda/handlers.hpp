#pragma once

/// The device side of operations.hpp.

#include <megakernels/ops/handler.hpp>
#include <megakernels/tylo/lane/memory.hpp>
#include <megakernels/tylo/lane/thread.hpp>

#include "operations.hpp"

namespace mk {

template <> struct handler<bench::tick> {
  template <class Context>
  static TYLO_FN void compute(Context& context, bench::tick::arguments const& a, task const& t) {
    if (a.what == bench::tick::rest || context.thread() != 0) return;
    auto const& x = context.operand(bench::tick::x);
    auto const& y = context.operand(bench::tick::y);
    for (auto r = t.row_begin; r < t.row_end; ++r)
      for (auto c = t.column_begin; c < t.column_end; ++c)
        *reinterpret_cast<std::int32_t*>(y.at(r, c)) = a.what == bench::tick::count
                                                           ? *reinterpret_cast<std::int32_t const*>(x.at(r, c)) + 1
                                                           : static_cast<std::int32_t>(tylo::clock_ns());
  }
};

template <> struct handler<bench::stream_rows> {
  template <class Context>
  static TYLO_FN void load(Context& context, bench::stream_rows::arguments const& a, task const& t) {
    auto const& x = context.operand(bench::stream_rows::x);
    for (auto r = t.row_begin; r < t.row_end; ++r)
      for (std::int32_t lap = 0; lap < a.laps; ++lap)
        for (std::uint32_t page = 0; page < pages_of<Context>(x); ++page)
          context.copy(context.acquire_span(1, Context::page_bytes), x.at(r) + std::size_t(page) * Context::page_bytes,
                       Context::page_bytes);
  }

  template <class Context>
  static TYLO_FN void compute(Context& context, bench::stream_rows::arguments const& a, task const& t) {
    auto const& x = context.operand(bench::stream_rows::x);
    auto const& y = context.operand(bench::stream_rows::y);
    auto* const sum = context.template scratch<std::uint32_t>();
    for (auto r = t.row_begin; r < t.row_end; ++r) {
      if (context.thread() == 0) *sum = 0;
      context.sync();
      std::uint32_t mine = 0;
      for (std::int32_t lap = 0; lap < a.laps; ++lap)
        for (std::uint32_t page = 0; page < pages_of<Context>(x); ++page) {
          mine += sum_of_page(context, context.wait_span(1));
          context.release_span(1);
        }
      tylo::add_release(sum, mine);
      context.sync();
      if (context.thread() != 0) continue;
      *reinterpret_cast<std::uint32_t*>(y.at(r, 0)) = static_cast<std::uint32_t>(tylo::clock_ns());
      *reinterpret_cast<std::uint32_t*>(y.at(r, 1)) = *sum;
    }
  }

private:
  template <class Context> static TYLO_FN std::uint32_t pages_of(tensor_view const& x) {
    return static_cast<std::uint32_t>(x.extent(1) * sizeof(std::int32_t) / Context::page_bytes);
  }

  struct alignas(16) words {
    std::uint32_t word[4];
  };

  /// The words of this thread.
  template <class Context> static TYLO_FN std::uint32_t sum_of_page(Context const& context, std::byte const* page) {
    auto const* const from = reinterpret_cast<words const*>(page);
    std::uint32_t sum = 0;
    for (unsigned i = context.thread(); i < Context::page_bytes / sizeof(words); i += Context::threads) {
      auto const w = from[i];
      sum += (w.word[0] + w.word[1]) + (w.word[2] + w.word[3]);
    }
    return sum;
  }
};

} // namespace mk
