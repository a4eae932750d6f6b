#pragma once

/// Ragged batches over a paged cache for the tests of attention and kv_append, and attention as plain loops in double.

#include <megakernels/ops/attention/attention.hpp>

#include "kit.hpp"

#include <limits>

namespace mk::kit {

/// One sequence of a batch: its rows are its last `queries` tokens, aligned with the last of its `keys`.
struct ragged {
  int queries = 1;
  int keys = 0;
};

struct paged_shape {
  int heads = 1;
  int kv_heads = 1;
  int head_dim = 64;
  int block_size = 16;
  int blocks_per_sequence = 0; ///< 0: as many as the longest sequence needs
  int padding_rows = 0;        ///< after the rows of all sequences
};

/// The operands of attention. Every slot of the pools that no sequence uses is NaN, and so are spare blocks; entries of
/// the table that no length needs are out of range.
struct paged_batch {
  paged_shape shape;
  tensor q, k, v, sequence, position, length, block_table;

  paged_batch(paged_shape s, std::vector<ragged> const& sequences, data_type type, std::uint64_t seed = 1) : shape(s) {
    int rows = s.padding_rows, longest = 0;
    for (auto const& r : sequences) rows += r.queries, longest = std::max(longest, r.keys);
    if (s.blocks_per_sequence == 0) shape.blocks_per_sequence = (longest + s.block_size - 1) / s.block_size;
    auto const count = static_cast<int>(sequences.size());
    auto const blocks = count * shape.blocks_per_sequence + 3;
    q = uniform(type, {rows, s.heads * s.head_dim}, seed);
    k = blank(type, {blocks, s.block_size, s.kv_heads, s.head_dim});
    v = blank(type, {blocks, s.block_size, s.kv_heads, s.head_dim});
    sequence = constant(data_type::int32, {rows}, -1);
    position = constant(data_type::int32, {rows}, 1 << 30);
    length = blank(data_type::int32, {count});
    block_table = constant(data_type::int32, {count, shape.blocks_per_sequence}, 1 << 30);
    for (int i = 0, row = 0; i < count; ++i) {
      auto const& r = sequences[static_cast<std::size_t>(i)];
      length.set(r.keys, i);
      for (int n = 0; n < r.queries; ++n, ++row) {
        sequence.set(i, row);
        position.set(r.keys - r.queries + n, row);
      }
    }
    fill_pools(seed);
  }

  /// Gives sequences blocks in a scrambled order and their keys and values random numbers.
  void fill_pools(std::uint64_t seed) {
    random numbers(seed + 1000);
    std::vector<int> order;
    for (int b = 0; b < k.extent(0); ++b) order.push_back(b);
    for (auto i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(numbers.integer(0, static_cast<std::int64_t>(i) - 1))]);
    std::size_t next = 0;
    for (std::int64_t s = 0; s < length.extent(0); ++s)
      for (int p = 0; p < length.get(s); ++p) {
        if (p % shape.block_size == 0) block_table.set(order[next++], s, p / shape.block_size);
        for (int h = 0; h < shape.kv_heads; ++h)
          for (int i = 0; i < shape.head_dim; ++i) {
            put_number(k.desc.type, key(k, s, p, h, i), static_cast<float>(numbers.uniform()));
            put_number(v.desc.type, key(v, s, p, h, i), static_cast<float>(numbers.uniform()));
          }
      }
  }

  /// Where element i of head h of token p of a sequence lies in a pool.
  std::byte* key(tensor const& pool, std::int64_t s, int p, int h, int i) const {
    return pool.at(static_cast<std::int64_t>(block_table.get(s, p / shape.block_size)), p % shape.block_size, h, i);
  }

  attention::arguments arguments(float scale, data_type type = data_type::fp32, int causal = 1, int splits = 1) const {
    return {.heads = shape.heads,
            .head_dim = shape.head_dim,
            .causal = causal,
            .splits = splits,
            .scale = scale,
            .type = type};
  }
  std::vector<std::pair<int, tensor>> operands() const {
    return {{attention::q, q},
            {attention::k_cache, k},
            {attention::v_cache, v},
            {attention::sequence, sequence},
            {attention::position, position},
            {attention::length, length},
            {attention::block_table, block_table}};
  }
  node<attention> make(attention::arguments const& a) const { return {a, operands(), {attention::lse}}; }
};

/// The answer for one row and query head.
struct attended {
  std::vector<double> o;
  double lse = -std::numeric_limits<double>::infinity();
};

/// Two passes over the visible keys in [first, last).
inline attended plain_attention(paged_batch const& b, attention::arguments const& a, std::int64_t row, int head,
                                int first = 0, int last = 1 << 30) {
  attended result{.o = std::vector<double>(static_cast<std::size_t>(a.head_dim), 0.0)};
  auto const s = static_cast<std::int64_t>(b.sequence.get(row));
  if (s < 0) return result;
  double visible = std::min<double>(b.length.get(s), last);
  if (a.causal != 0) visible = std::min(visible, b.position.get(row) + 1);
  int const kv_head = head * b.shape.kv_heads / a.heads;
  std::vector<double> scores;
  for (int p = first; p < visible; ++p) {
    double dot = 0;
    for (int i = 0; i < a.head_dim; ++i)
      dot += b.q.get(row, head * a.head_dim + i) * number_at(b.k.desc.type, b.key(b.k, s, p, kv_head, i));
    scores.push_back(dot * static_cast<double>(a.scale));
  }
  if (scores.empty()) return result;
  double const largest = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (double score : scores) total += std::exp(score - largest);
  result.lse = largest + std::log(total);
  for (int p = first; p < visible; ++p)
    for (int i = 0; i < a.head_dim; ++i)
      result.o[static_cast<std::size_t>(i)] += std::exp(scores[static_cast<std::size_t>(p - first)] - result.lse) *
                                               number_at(b.v.desc.type, b.key(b.v, s, p, kv_head, i));
  return result;
}

/// Every row and head of o and lse is what plain loops give: o within an ulp of its type or `slack`.
inline void expect_attention(paged_batch const& b, node<attention>& n, attention::arguments const& a,
                             double slack = 4e-6) {
  std::vector<attended> right;
  for (std::int64_t row = 0; row < b.q.extent(0); ++row)
    for (int head = 0; head < a.heads; ++head) right.push_back(plain_attention(b, a, row, head));
  auto const at = [&](std::int64_t row, std::int64_t head) -> attended const& {
    return right[static_cast<std::size_t>(row * a.heads + head)];
  };
  expect_close(
      n[attention::o],
      [&](std::int64_t i, std::int64_t j) { return at(i, j / a.head_dim).o[static_cast<std::size_t>(j % a.head_dim)]; },
      1, slack);
  expect_close(n[attention::lse], [&](std::int64_t i, std::int64_t j) { return at(i, j).lse; }, 1, slack);
}

} // namespace mk::kit
