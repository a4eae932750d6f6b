#pragma once

/// `merge` on a device: a warp takes a head of a row.

#include <megakernels/ops/device/floating.hpp>
#include <megakernels/ops/device/quotient.hpp>
#include <megakernels/ops/device/reduce.hpp>
#include <megakernels/ops/device/rolled.hpp>
#include <megakernels/ops/handler.hpp>
#include <megakernels/ops/merge/merge.hpp>

#include <cmath>
#include <limits>

namespace mk {

namespace handlers {

template <class Context> class merge_task {
public:
  TYLO_FN merge_task(Context& context, merge::arguments const& a)
      : context_(context), splits_(context.operand(merge::o).extent(0)),
        head_dim_(quotient(context.operand(merge::o).extent(2), a.heads)) {}

  TYLO_FN void run(task const& t) const {
    auto const heads = t.column_end - t.column_begin;
    if (heads <= 0) return;
    std::int64_t head = context_.warp();
    MK_ROLLED
    for (auto row = t.row_begin; row < t.row_end; head += Context::warps) {
      for (; head >= heads; ++row) head -= heads;
      if (row < t.row_end) join(row, t.column_begin + head);
    }
  }

private:
  static constexpr float infinity = std::numeric_limits<float>::infinity();

  /// The states of a head: one every `step` elements.
  struct states {
    float const* of;
    std::int64_t step;
    float largest; ///< NaN where one is NaN or +infinity
  };

  TYLO_FN states states_of(std::int64_t row, std::int64_t head) const {
    auto const& lse = context_.operand(merge::lse);
    auto const* const first = reinterpret_cast<float const*>(lse.data) + row * lse.stride(1) + head * lse.stride(2);
    states result{first, lse.stride(0), -infinity};
    bool broken = false;
    MK_ROLLED
    for (std::int64_t s = context_.lane(); s < splits_; s += tylo::warp_size) {
      float const value = result.of[s * result.step];
      broken |= !(value < infinity);
      result.largest = value > result.largest ? value : result.largest;
    }
    result.largest = warp_max(result.largest);
    if (tylo::any_lane(broken)) result.largest = std::numeric_limits<float>::quiet_NaN();
    return result;
  }

  TYLO_FN void join(std::int64_t row, std::int64_t head) const {
    auto const& o = context_.operand(merge::o);
    auto const& y = context_.operand(merge::y);
    auto const& merged = context_.operand(merge::merged_lse);
    floating_elements const of_o(o.type), of_y(y.type);
    auto const parts = states_of(row, head);
    bool const empty = parts.largest == -infinity;
    std::int64_t i = context_.lane();
    do { // once at least: lane 0 needs the sum of weights
      bool const inside = i < head_dim_;
      auto const column = head * head_dim_ + i;
      auto const* const from = o.data + (row * o.stride(1) + column * o.stride(2)) * of_o.bytes();
      float sum = 0;
      float total = 0;
      MK_ROLLED
      for (std::int64_t s = 0; s < splits_; ++s) {
        float const state = parts.of[s * parts.step];
        if (state == -infinity) continue;
        float const weight = std::exp(state - parts.largest);
        total += weight;
        if (inside) sum += weight * of_o.load(from + s * o.stride(0) * of_o.bytes());
      }
      if (inside)
        of_y.store(y.data + (row * y.stride(0) + column * y.stride(1)) * of_y.bytes(), empty ? 0.0f : sum / total);
      if (i == 0 && merged.present())
        reinterpret_cast<float*>(merged.data)[row * merged.stride(0) + head * merged.stride(1)] =
            empty ? -infinity : parts.largest + std::log(total);
      i += tylo::warp_size;
    } while (i < head_dim_);
  }

  Context& context_;
  std::int64_t splits_;
  std::int64_t head_dim_;
};

} // namespace handlers

template <> struct handler<merge> {
  template <class Context> static TYLO_FN void compute(Context& context, merge::arguments const& a, task const& t) {
    handlers::merge_task<Context>(context, a).run(t);
  }
};

} // namespace mk
