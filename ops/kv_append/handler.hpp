#pragma once

/// `kv_append` on a device.

#include <megakernels/ops/device/floating.hpp>
#include <megakernels/ops/device/rolled.hpp>
#include <megakernels/ops/handler.hpp>
#include <megakernels/ops/kv_append/kv_append.hpp>
#include <megakernels/ops/paged_cache.hpp>
#include <megakernels/tylo/lane/thread.hpp>

namespace mk {

namespace handlers {

/// Where a row goes; block -1: nowhere.
struct cache_place {
  std::int32_t block;
  std::int32_t slot;
};

/// Rows are taken in runs of one a thread, run after run: within a run a slot has one writer, the last row that names
/// it, so that its rows may be copied in any order.
template <class Context> class kv_append_task {
public:
  TYLO_FN kv_append_task(Context& context, task const& t)
      : context_(context), t_(t), cache_(context.operand(kv_append::k_cache), context.operand(kv_append::block_table)),
        places_(context.template scratch<cache_place>()) {}

  TYLO_FN void run() {
    MK_ROLLED
    for (auto first = t_.row_begin; first < t_.row_end; first += Context::threads) {
      auto const left = t_.row_end - first;
      auto const count = left < Context::threads ? static_cast<unsigned>(left) : Context::threads;
      auto const me = context_.thread();
      auto place = me < count ? place_of(first + me) : cache_place{-1, 0};
      places_[me] = place;
      context_.sync();
      MK_ROLLED
      for (unsigned later = 1; later < count; ++later)
        if (later > me && places_[later].block == place.block && places_[later].slot == place.slot) place.block = -1;
      context_.sync();
      places_[me] = place;
      context_.sync();
      copy_rows(first, count);
      context_.sync();
    }
  }

private:
  TYLO_FN cache_place place_of(std::int64_t row) const {
    auto const& table = context_.operand(kv_append::block_table);
    std::int64_t const owner = index_at(context_.operand(kv_append::sequence), row);
    std::int64_t const at = index_at(context_.operand(kv_append::position), row);
    if (!cache_.has_sequence(owner) || at < 0 || at >= cache_.capacity()) return {-1, 0};
    auto const column = cache_.column_of(static_cast<std::uint32_t>(at));
    return {static_cast<std::int32_t>(cache_.block_of(table, owner, column)),
            static_cast<std::int32_t>(at - column * cache_.block_size)};
  }

  /// A warp takes a head of keys or of values of one row.
  TYLO_FN void copy_rows(std::int64_t first, unsigned count) {
    auto const heads = t_.column_end - t_.column_begin;
    auto row = context_.warp();
    MK_ROLLED
    for (std::int64_t unit = 0;; row += Context::warps) {
      MK_ROLLED
      for (; row >= count; ++unit) row -= count;
      if (unit >= 2 * heads) break;
      if (places_[row].block < 0) continue;
      bool const value = unit >= heads;
      copy_head(value ? kv_append::v : kv_append::k, value ? kv_append::v_cache : kv_append::k_cache, first + row,
                t_.column_begin + (value ? unit - heads : unit), places_[row]);
    }
  }

  TYLO_FN void copy_head(int from_slot, int to_slot, std::int64_t row, std::int64_t head, cache_place place) const {
    auto const& from = context_.operand(from_slot);
    auto const& to = context_.operand(to_slot);
    floating_elements const of_from(from.type), of_to(to.type);
    auto const* const source =
        from.data + (row * from.stride(0) + head * cache_.head_dim * from.stride(1)) * of_from.bytes();
    auto* const target =
        to.data + (place.block * to.stride(0) + place.slot * to.stride(1) + head * to.stride(2)) * of_to.bytes();
    auto const source_step = from.stride(1) * of_from.bytes();
    auto const target_step = to.stride(3) * of_to.bytes();
    MK_ROLLED
    for (std::int64_t i = context_.lane(); i < cache_.head_dim; i += tylo::warp_size)
      of_to.store(target + i * target_step, of_from.load(source + i * source_step));
  }

  Context& context_;
  task const& t_;
  paged_cache cache_;
  cache_place* places_;
};

} // namespace handlers

template <> struct handler<kv_append> {
  template <class Context> static TYLO_FN void compute(Context& context, kv_append::arguments const&, task const& t) {
    handlers::kv_append_task<Context>(context, t).run();
  }
};

} // namespace mk
