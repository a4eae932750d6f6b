#include <megakernels/ops/attention/attention.hpp>
#include <megakernels/ops/paged_cache.hpp>
#include <megakernels/ops/reference/dot.hpp>
#include <megakernels/ops/reference/exponential.hpp>
#include <megakernels/ops/reference/rows.hpp>
#include <megakernels/ops/reference/weighted_sum.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace mk {
namespace {

using reference::scratch;
using views = std::span<tensor_view const>;

constexpr std::int64_t keys_at_once = 64; ///< a multiple of dot_columns
constexpr std::int64_t rows_at_once = 8;
constexpr std::int64_t most_scores = 1 << 20; ///< held at once, unless a single row needs more

template <class Accumulate> constexpr Accumulate minus_infinity = -std::numeric_limits<Accumulate>::infinity();

/// Rows of one sequence that are worked on together: keys and values become numbers once for all of them. What a row
/// gives does not depend on the others.
struct row_run {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t sequence = 0;
  std::array<std::int64_t, rows_at_once> visible{}; ///< keys of this split that each row sees
  std::int64_t most_visible = 0;
};

/// Scores to weights exp(score - largest); returns their sum, and in `lse` its logarithm plus the largest score. With
/// no score over -infinity: weights 0, lse -infinity.
template <class Accumulate> Accumulate soften(std::span<Accumulate> scores, Accumulate& lse) {
  Accumulate largest = minus_infinity<Accumulate>;
  bool has_nan = false;
  for (auto s : scores) {
    largest = s > largest ? s : largest;
    has_nan |= !(s == s);
  }
  lse = minus_infinity<Accumulate>;
  if (largest == lse && !has_nan) {
    std::fill(scores.begin(), scores.end(), Accumulate(0));
    return 0;
  }
  auto* const weight = scores.data();
  auto const count = static_cast<std::int64_t>(scores.size());
  for (std::int64_t j = 0; j < count; ++j) weight[j] = reference::exponential(weight[j] - largest);
  auto const total = reference::sum<Accumulate>(count, [&](std::int64_t j) { return weight[j]; });
  lse = largest + std::log(total);
  return total;
}

/// One head of the cache in one split, with the query heads that read it.
template <class Accumulate> class head_work {
public:
  head_work(attention::arguments const& a, views o, std::int64_t column)
      : a_(a), o_(o), cache_(o[attention::k_cache], o[attention::block_table]), group_(a.heads / cache_.kv_heads),
        width_(reference::padded(a.head_dim)), split_(column / cache_.kv_heads), head_(column % cache_.kv_heads),
        vectors_(scratch<Accumulate, 5>(keys_at_once * width_).data()) {
    std::fill_n(vectors_, keys_at_once * width_, Accumulate(0));
    auto const share = (cache_.blocks_per_sequence + a.splits - 1) / a.splits;
    first_key_ = std::min(split_ * share, cache_.blocks_per_sequence) * cache_.block_size;
    end_key_ = std::min((split_ + 1) * share, cache_.blocks_per_sequence) * cache_.block_size;
  }

  void run(std::int64_t row_begin, std::int64_t row_end) const {
    for (auto row = row_begin; row < row_end;) {
      auto const rows = rows_from(row, row_end);
      attend(rows);
      row += rows.count;
    }
  }

private:
  /// Keys of this split that a row sees.
  std::int64_t visible(std::int64_t row, std::int64_t sequence) const {
    if (!cache_.has_sequence(sequence)) return 0;
    std::int64_t end = std::min<std::int64_t>(index_at(o_[attention::length], sequence), end_key_);
    if (a_.causal != 0) end = std::min(end, index_at(o_[attention::position], row) + std::int64_t{1});
    return std::max<std::int64_t>(end - first_key_, 0);
  }

  row_run rows_from(std::int64_t begin, std::int64_t end) const {
    row_run rows{.begin = begin, .sequence = index_at(o_[attention::sequence], begin)};
    for (auto row = begin; row < end && rows.count < rows_at_once; ++row) {
      if (index_at(o_[attention::sequence], row) != rows.sequence) break;
      auto const keys = visible(row, rows.sequence);
      auto const most = std::max(rows.most_visible, keys);
      if (rows.count > 0 && (rows.count + 1) * group_ > most_scores / std::max<std::int64_t>(most, 1)) break;
      rows.most_visible = most;
      rows.visible[static_cast<std::size_t>(rows.count++)] = keys;
    }
    return rows;
  }

  /// Calls f(first, count) for runs of keys of the rows, in ascending order.
  template <class F> static void each_run_of_keys(row_run const& rows, F f) {
    for (std::int64_t key = 0; key < rows.most_visible; key += keys_at_once)
      f(key, std::min(keys_at_once, rows.most_visible - key));
  }

  /// Vectors of keys or values as numbers, zeros for those whose block does not exist: bit j of the result is set for
  /// such a key `first + j`.
  std::uint64_t gather(int slot, row_run const& rows, std::int64_t first, std::int64_t count, Accumulate* to) const {
    auto const& pool = o_[static_cast<std::size_t>(slot)];
    std::uint64_t missing = 0;
    std::int64_t block = -1;
    for (std::int64_t key = 0; key < count; ++key) {
      auto const at = first_key_ + first + key;
      auto const inside = at % cache_.block_size;
      if (key == 0 || inside == 0)
        block = cache_.block_of(o_[attention::block_table], rows.sequence, at / cache_.block_size);
      std::span const vector(to + key * width_, static_cast<std::size_t>(a_.head_dim));
      if (block >= 0) {
        reference::load_row<Accumulate>(pool.type, pool.at(block, inside, head_), pool.stride(3), vector);
        continue;
      }
      std::fill(vector.begin(), vector.end(), Accumulate(0));
      missing |= std::uint64_t{1} << key;
    }
    return missing;
  }

  void load_queries(row_run const& rows, Accumulate* to) const {
    auto const& q = o_[attention::q];
    for (std::int64_t i = 0; i < rows.count * group_; ++i) {
      auto const* from = q.at(rows.begin + i / group_, (head_ * group_ + i % group_) * a_.head_dim);
      std::span const query(to + i * width_, static_cast<std::size_t>(a_.head_dim));
      reference::load_row<Accumulate>(q.type, from, q.stride(1), query);
      std::fill(to + i * width_ + a_.head_dim, to + (i + 1) * width_, Accumulate(0));
    }
  }

  /// scores[i * stride + j] for query i and key j of the rows.
  void score(row_run const& rows, Accumulate const* queries, Accumulate* scores, std::int64_t stride) const {
    auto const scale = static_cast<Accumulate>(a_.scale);
    auto const count = rows.count * group_;
    each_run_of_keys(rows, [&](std::int64_t first, std::int64_t some) {
      auto const missing = gather(attention::k_cache, rows, first, some, vectors_);
      for (std::int64_t j = 0; j < some; j += reference::dot_columns)
        reference::run(reference::dot_block<Accumulate>{.x = queries,
                                                        .weight = vectors_ + j * width_,
                                                        .rows = count,
                                                        .inner = width_,
                                                        .out = scores + first + j,
                                                        .out_stride = stride});
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = 0; j < some; ++j) {
          auto& value = scores[i * stride + first + j];
          value = missing >> j & 1 ? minus_infinity<Accumulate> : value * scale;
        }
    });
  }

  /// sums[i * width + ...] of query i: values by weight, not yet divided by the weights' sum.
  void weigh(row_run const& rows, Accumulate const* weights, std::int64_t stride, Accumulate* sums) const {
    std::fill(sums, sums + rows.count * group_ * width_, Accumulate(0));
    each_run_of_keys(rows, [&](std::int64_t first, std::int64_t some) {
      gather(attention::v_cache, rows, first, some, vectors_);
      for (std::int64_t r = 0; r < rows.count; ++r)
        reference::run(reference::weighted_sum<Accumulate>{
            .weight = weights + r * group_ * stride + first,
            .weight_stride = stride,
            .rows = group_,
            .value = vectors_,
            .count = std::clamp<std::int64_t>(rows.visible[static_cast<std::size_t>(r)] - first, 0, some),
            .width = width_,
            .sum = sums + r * group_ * width_});
    });
  }

  void attend(row_run const& rows) const {
    auto const queries = rows.count * group_;
    // Scores are written by groups of columns: the last group reaches over the last key.
    auto const stride = rows.most_visible + reference::dot_columns;
    auto* const query = scratch<Accumulate, 0>(queries * width_).data();
    auto* const sums = scratch<Accumulate, 1>(queries * width_).data();
    auto* const scores = scratch<Accumulate, 2>(queries * stride).data();
    auto* const lse = scratch<Accumulate, 3>(queries).data();
    auto* const totals = scratch<Accumulate, 4>(queries).data();
    load_queries(rows, query);
    score(rows, query, scores, stride);
    for (std::int64_t i = 0; i < queries; ++i) {
      std::span const row(scores + i * stride,
                          static_cast<std::size_t>(rows.visible[static_cast<std::size_t>(i / group_)]));
      totals[i] = soften(row, lse[i]);
    }
    weigh(rows, scores, stride, sums);
    for (std::int64_t i = 0; i < queries; ++i)
      store(rows.begin + i / group_, head_ * group_ + i % group_, sums + i * width_, totals[i], lse[i]);
  }

  void store(std::int64_t row, std::int64_t head, Accumulate* sum, Accumulate total, Accumulate lse) const {
    for (std::int64_t i = 0; i < a_.head_dim; ++i) sum[i] = lse == minus_infinity<Accumulate> ? 0 : sum[i] / total;
    std::span<Accumulate const> const result(sum, static_cast<std::size_t>(a_.head_dim));
    auto const& o = o_[attention::o];
    auto const column = head * a_.head_dim;
    bool const parts = a_.splits > 1;
    reference::store_row<Accumulate>(o.type, parts ? o.at(split_, row, column) : o.at(row, column),
                                     o.stride(parts ? 2 : 1), result);
    auto const& states = o_[attention::lse];
    if (!states.present()) return;
    reference::store_row<Accumulate>(states.type, parts ? states.at(split_, row, head) : states.at(row, head), 1,
                                     std::span<Accumulate const>(&lse, 1));
  }

  attention::arguments const& a_;
  views o_;
  paged_cache cache_;
  std::int64_t group_; ///< query heads
  std::int64_t width_; ///< head_dim with padding, which is 0
  std::int64_t split_;
  std::int64_t head_;
  std::int64_t first_key_; ///< of the split
  std::int64_t end_key_;
  Accumulate* vectors_; ///< keys or values as numbers: [keys_at_once, width]
};

} // namespace

template <class Accumulate>
void attention::reference(arguments const& a, std::span<tensor_view const> operands, task const& t) {
  for (auto column = t.column_begin; column < t.column_end; ++column)
    head_work<Accumulate>(a, operands, column).run(t.row_begin, t.row_end);
}

template void attention::reference<float>(arguments const&, std::span<tensor_view const>, task const&);
template void attention::reference<double>(arguments const&, std::span<tensor_view const>, task const&);

} // namespace mk
