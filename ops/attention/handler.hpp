#pragma once

/// `attention` on a device, of any shape: a warp takes a query head of a row. It goes over the keys 32 at a time, one a
/// lane for the scores, then one element of the output a lane for the values.

#include <megakernels/ops/attention/attention.hpp>
#include <megakernels/ops/device/floating.hpp>
#include <megakernels/ops/device/quotient.hpp>
#include <megakernels/ops/device/reduce.hpp>
#include <megakernels/ops/device/rolled.hpp>
#include <megakernels/ops/handler.hpp>
#include <megakernels/ops/paged_cache.hpp>

#include <cmath>
#include <limits>

namespace mk {

namespace handlers {

/// A query head of a row, in one split, and the key that a lane looks at.
struct attention_query {
  std::int64_t row;
  std::int64_t split;
  std::int64_t kv_head;
  std::uint32_t in_group; ///< number among the query heads that read kv_head
};

/// The grid of a task, walked by warps: query heads run fastest, then rows, then columns.
struct attention_walk {
  attention_query at;
  std::int64_t columns; ///< that are left
  std::int64_t row_begin;
  std::int64_t row_end;
  std::int64_t kv_heads;
  std::uint32_t group;

  TYLO_FN attention_walk(task const& t, std::int64_t kv_heads_, std::int32_t heads)
      : at{t.row_begin, 0, t.column_begin, 0}, columns(t.column_end - t.column_begin), row_begin(t.row_begin),
        row_end(t.row_end), kv_heads(kv_heads_),
        group(static_cast<std::uint32_t>(heads) / static_cast<std::uint32_t>(kv_heads_)) {
    MK_ROLLED
    for (; at.kv_head >= kv_heads; ++at.split) at.kv_head -= kv_heads;
  }

  TYLO_FN void skip(unsigned count) {
    MK_ROLLED
    for (at.in_group += count; at.in_group >= group; at.in_group -= group) {
      if (++at.row < row_end) continue;
      at.row = row_begin;
      --columns;
      if (++at.kv_head < kv_heads) continue;
      at.kv_head = 0;
      ++at.split;
    }
  }
};

/// State of a running softmax over keys. `total` is the lane's own part.
struct attention_state {
  float largest = -std::numeric_limits<float>::infinity();
  float total = 0;
  bool broken = false; ///< a score was NaN or +infinity
};

template <class Context> class attention_task {
public:
  TYLO_FN attention_task(Context& context, attention::arguments const& a)
      : context_(context), a_(a), lane_(static_cast<std::int32_t>(context.lane())), q_(context.operand(attention::q)),
        k_(context.operand(attention::k_cache)), v_(context.operand(attention::v_cache)),
        cache_(k_, context.operand(attention::block_table)), of_q_(q_.type), of_k_(k_.type), of_v_(v_.type),
        share_(quotient(cache_.blocks_per_sequence + a.splits - 1, a.splits)),
        sums_(context.template scratch<float>() + context.warp() * warp_floats),
        nothing_(reinterpret_cast<std::byte const*>(sums_ + most_elements)) {}

  TYLO_FN void run(task const& t) const {
    if (lane_ == 0) sums_[most_elements] = 0;
    tylo::sync_warp();
    attention_walk walk(t, cache_.kv_heads, a_.heads);
    MK_ROLLED
    for (walk.skip(context_.warp()); walk.columns > 0; walk.skip(Context::warps)) attend(walk.at, walk.group);
  }

private:
  static constexpr float infinity = std::numeric_limits<float>::infinity();
  static constexpr std::int32_t lanes = tylo::warp_size;
  static constexpr unsigned at_once = 4; ///< loads of a lane
  static constexpr unsigned scratch_floats = 2048;
  static constexpr unsigned warp_floats = scratch_floats / Context::warps;

  /// Elements of the output that a warp sums up at a time. Larger heads are worked on part by part, each from the
  /// scores on.
  static constexpr std::int32_t most_elements = (warp_floats - 1) / tylo::warp_size * tylo::warp_size;

  /// Keys of a split: a run of whole blocks of each sequence.
  TYLO_FN std::int64_t first_key(std::int64_t split) const {
    auto const block = split * share_;
    return (block < cache_.blocks_per_sequence ? block : cache_.blocks_per_sequence) * cache_.block_size;
  }

  /// One past the last key that a row sees, at most `end`. A length is an int32, and so is this.
  TYLO_FN std::int32_t visible_end(std::int64_t row, std::int32_t sequence, std::int64_t end) const {
    if (!cache_.has_sequence(sequence)) return 0;
    std::int64_t const length = index_at(context_.operand(attention::length), sequence);
    std::int64_t const after = std::int64_t{index_at(context_.operand(attention::position), row)} + 1;
    end = length < end ? length : end;
    return static_cast<std::int32_t>(a_.causal != 0 && after < end ? after : end);
  }

  TYLO_FN void attend(attention_query const& query, std::uint32_t group) const {
    // Whatever other tasks do to the tables after an abort, all lanes go the same way: they go by what lane 0 has read.
    auto const sequence = tylo::shuffle(index_at(context_.operand(attention::sequence), query.row), 0);
    auto const end = tylo::shuffle(visible_end(query.row, sequence, first_key(query.split + 1)), 0);
    auto const begin = first_key(query.split);
    auto const head = query.kv_head * group + query.in_group;
    auto const* const query_at =
        q_.data + (query.row * q_.stride(0) + head * a_.head_dim * q_.stride(1)) * of_q_.bytes();
    MK_ROLLED
    for (std::int32_t first = 0; first < a_.head_dim; first += most_elements) {
      auto const left = a_.head_dim - first;
      auto const width = left < most_elements ? left : most_elements;
      MK_ROLLED
      for (auto i = lane_; i < width; i += lanes) sums_[i] = 0;
      attention_state state;
      MK_ROLLED
      for (auto key = begin; key < end; key += lanes) {
        auto const count = end - key < lanes ? static_cast<unsigned>(end - key) : tylo::warp_size;
        add_keys(query, query_at, sequence, static_cast<std::uint32_t>(key), count, first, width, state);
      }
      store_part(query, head, first, width, state);
    }
  }

  /// Adds `count` keys from `first` on, at most 32, to elements [element, element + width) of the output.
  TYLO_FN void add_keys(attention_query const& query, std::byte const* query_at, std::int32_t sequence,
                        std::uint32_t first, unsigned count, std::int32_t element, std::int32_t width,
                        attention_state& state) const {
    auto const key = first + context_.lane();
    auto const column = cache_.column_of(key);
    auto const slot = key - column * cache_.block_size;
    auto const block = context_.lane() < count
                           ? cache_.block_of(context_.operand(attention::block_table), sequence, column)
                           : std::int64_t{-1};
    auto const place = [&](tensor_view const& pool) {
      return block * pool.stride(0) + slot * pool.stride(1) + query.kv_head * pool.stride(2);
    };
    float score = dot(query_at, block < 0 ? nullptr : k_.data + place(k_) * of_k_.bytes());
    score = block < 0 ? -infinity : score * a_.scale;
    bool const broken = !(score < infinity);
    state.broken |= tylo::any_lane(broken);
    if (broken) score = -infinity;
    float const largest = tylo::larger_of(state.largest, warp_max(score));
    // All scores may be -infinity, and infinities have no difference.
    float const weight = largest == -infinity ? 0.0f : std::exp(score - largest);
    float const before = largest == -infinity ? 0.0f : std::exp(state.largest - largest);
    state.total = state.total * before + weight;
    state.largest = largest;
    add_values(block < 0 ? nullptr : v_.data + (place(v_) + element * v_.stride(3)) * of_v_.bytes(), weight, before,
               count, width);
  }

  /// Product of a query, the same for all lanes, with the key of each lane; 0 where that is null.
  TYLO_FN float dot(std::byte const* query, std::byte const* key) const {
    auto const query_step = q_.stride(1) * of_q_.bytes();
    auto const key_step = k_.stride(3) * of_k_.bytes();
    float partial[at_once] = {};
    MK_ROLLED
    for (std::int32_t first = 0; first < a_.head_dim; first += lanes) {
      float const mine = of_q_.load(first + lane_ < a_.head_dim ? query + (first + lane_) * query_step : nothing_);
      MK_ROLLED
      for (std::int32_t i = first; i < first + lanes && i < a_.head_dim; i += at_once) {
        std::byte const* from[at_once];
        float element[at_once];
        for (unsigned j = 0; j < at_once; ++j) {
          bool const inside = key != nullptr && i + static_cast<std::int32_t>(j) < a_.head_dim;
          from[j] = inside ? key + j * key_step : nothing_;
        }
        of_k_.load(from, element);
        for (unsigned j = 0; j < at_once; ++j)
          partial[j] += tylo::shuffle(mine, static_cast<unsigned>(i - first) + j) * element[j];
        if (key != nullptr) key += at_once * key_step;
      }
    }
    return (partial[0] + partial[2]) + (partial[1] + partial[3]);
  }

  /// Adds the values of `count` keys, each known to one lane by its place, null if it does not count, and weight.
  TYLO_FN void add_values(std::byte const* value, float weight, float before, unsigned count,
                          std::int32_t width) const {
    auto const step = v_.stride(3) * of_v_.bytes();
    auto const place = reinterpret_cast<std::uintptr_t>(value);
    MK_ROLLED
    for (std::int32_t c = 0; c < width; c += lanes) {
      bool const inside = c + lane_ < width;
      float sum = inside ? sums_[c + lane_] * before : 0.0f;
      MK_ROLLED
      for (unsigned key = 0; key < count; key += at_once) {
        std::byte const* from[at_once];
        float element[at_once];
        for (unsigned j = 0; j < at_once; ++j) {
          auto const* const start = reinterpret_cast<std::byte const*>(tylo::shuffle(place, key + j));
          from[j] = start != nullptr && inside ? start + (c + lane_) * step : nothing_;
        }
        of_v_.load(from, element);
        for (unsigned j = 0; j < at_once; ++j) sum += tylo::shuffle(weight, key + j) * element[j];
      }
      if (inside) sums_[c + lane_] = sum;
    }
  }

  TYLO_FN void store_part(attention_query const& query, std::int64_t head, std::int32_t first, std::int32_t width,
                          attention_state const& state) const {
    bool const empty = state.largest == -infinity && !state.broken;
    auto const sum = warp_sum(state.total);
    auto const total = state.broken ? std::numeric_limits<float>::quiet_NaN() : sum;
    auto const& o = context_.operand(attention::o);
    floating_elements const of_o(o.type);
    auto* const to = o.data + offset(o, query, head * a_.head_dim + first) * of_o.bytes();
    auto const step = o.stride(a_.splits > 1 ? 2 : 1) * of_o.bytes();
    MK_ROLLED
    for (auto i = lane_; i < width; i += lanes) of_o.store(to + i * step, empty ? 0.0f : sums_[i] / total);
    auto const& lse = context_.operand(attention::lse);
    if (first == 0 && lane_ == 0 && lse.present())
      reinterpret_cast<float*>(lse.data)[offset(lse, query, head)] =
          empty ? -infinity : state.largest + std::log(total);
  }

  /// Of an output, in elements.
  TYLO_FN std::int64_t offset(tensor_view const& output, attention_query const& query, std::int64_t column) const {
    int const last = a_.splits > 1 ? 2 : 1;
    return (a_.splits > 1 ? query.split * output.stride(0) : 0) + query.row * output.stride(last - 1) +
           column * output.stride(last);
  }

  Context& context_;
  attention::arguments const& a_;
  std::int32_t lane_;
  tensor_view const& q_;
  tensor_view const& k_;
  tensor_view const& v_;
  paged_cache cache_;
  floating_elements of_q_, of_k_, of_v_;
  std::int64_t share_;       ///< of a split, in blocks
  float* sums_;              ///< of this warp; each lane looks at its own, one every 32, only
  std::byte const* nothing_; ///< 0 as an element of any type
};

} // namespace handlers

template <> struct handler<attention> {
  template <class Context> static TYLO_FN void compute(Context& context, attention::arguments const& a, task const& t) {
    handlers::attention_task<Context>(context, a).run(t);
  }
};

} // namespace mk
