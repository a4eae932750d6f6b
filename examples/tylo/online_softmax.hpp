#pragma once

/// The kernels of docs/tylo/online_softmax.md.

#include <megakernels/tylo/fragment/memory.hpp>
#include <megakernels/tylo/fragment/online_softmax.hpp>
#include <megakernels/tylo/fragment/pack.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/mma.hpp>

#include <limits>

namespace examples::softmax {

using namespace tylo;

constexpr float masked = -std::numeric_limits<float>::infinity();

// [lanes]
constexpr auto row_of_lane = local<axis::columns>(24); // 32 x 24: lane i has row i

/// y = softmax(scale * x) of each row, for up to 24 columns. x and y are [rows, columns] in fp32, stored column by
/// column, so that neighbouring lanes access neighbours. Each warp of the grid takes 32 rows.
TYLO_FN inline void softmax_by_lanes(float const* x, float* y, int rows, int columns, float scale, int warps_of_cta) {
  auto const warp = static_cast<int>(cta_rank()) * warps_of_cta + static_cast<int>(thread_rank() / warp_size);
  auto const first = multiple_of<32>{32 * warp};
  auto const shape = column_major(rows, columns);
  auto const from = window<32, 24>(tile_of(x, shape), first, constant<0>{});
  auto const to = window<32, 24>(tile_of(y, shape), first, constant<0>{});

  auto const scores = load<row_of_lane>(this_warp{}, from, masked); // outside of the matrix: masked
  auto state = online_softmax<axis::columns, row_of_lane>::start();
  auto const weights = state.update(this_warp{}, scores, scale * log2_e).weights;
  store(this_warp{}, to, weights * state.normalizer());
}
// [/lanes]

// [warps]
constexpr auto piece_of_warp = striped<axis::columns>(2, 8); // 1 x 512: two vectors of 8 a lane

/// y = softmax(scale * x) of each row, for rows of any length. x and y are [rows, columns] in bf16, columns a multiple
/// of 8. Each warp of the grid takes one row, and reads it twice.
TYLO_FN inline void softmax_by_warps(bf16 const* x, bf16* y, int rows, int columns, float scale, int warps_of_cta) {
  int const row = static_cast<int>(cta_rank()) * warps_of_cta + static_cast<int>(thread_rank() / warp_size);
  if (row >= rows) return; // the whole warp
  auto const shape = row_major(rows, multiple_of<8>{columns});
  auto const piece_at = [&](auto const& matrix, int first) {
    return window<1, 512>(matrix, row, multiple_of<512>{first});
  };
  auto const scores_at = [&](int first) {
    auto const piece = piece_at(tile_of<16>(x, shape), first);
    return convert<float>(load<piece_of_warp>(this_warp{}, piece, convert_to<bf16>(masked), whole_vectors{}));
  };

  auto state = online_softmax<axis::columns, piece_of_warp>::start();
  for (int first = 0; first < columns; first += 512) state.update(this_warp{}, scores_at(first), scale * log2_e);

  line_scale const of_row(state.most, scale * log2_e);
  auto const share = state.normalizer();
  for (int first = 0; first < columns; first += 512)
    store(this_warp{}, piece_at(tile_of<16>(y, shape), first), convert<bf16>(of_row.weights(scores_at(first)) * share),
          whole_vectors{});
}
// [/warps]

// [epilogue]
constexpr ownership mma_a{{16, 16}, steps(4, {0, 2}).then(8, {1, 0}), steps(2, {0, 1}).then(2, {8, 0}).then(2, {0, 8})};
constexpr ownership mma_b{{16, 8}, steps(4, {2, 0}).then(8, {0, 1}), steps(2, {1, 0}).then(2, {8, 0})};
constexpr ownership mma_c{{16, 8}, steps(4, {0, 2}).then(8, {1, 0}), steps(2, {0, 1}).then(2, {8, 0})};
constexpr auto sums_of_cta = tiled(mma_c, {1, 8}, {4, 1}); // 64 x 64: each of four warps has 16 rows

/// What follows a product: y = softmax(scale * sums + bias) of each row, and the logarithm of what it was divided by.
/// Columns from `columns` on do not count. y is [64, columns] in bf16, bias is [columns], log_sums is [64].
template <group G, ownership O>
TYLO_FN void softmax_epilogue(G const& group, fragment<float, O> const& sums, float scale, float const* bias,
                              int columns, bf16* y, float* log_sums) {
  auto const of_column = load<reduced<O, axis::rows>>(group, tile_of(bias, row_major(constant<1>{}, columns)), masked);
  auto const logits = map([=](float s, float b) { return fused_multiply_add(s, scale, b); }, sums, of_column);
  auto state = online_softmax<axis::columns, O>::start();
  auto const weights = state.update(group, logits, log2_e).weights;
  store(group, tile_of(y, row_major(constant<64>{}, columns)), convert<bf16>(weights * state.normalizer()));
  store(group, tile_of(log_sums, row_major<64, 1>()), state.log_sum_exp(log2_e));
}

/// The same for sums = a b with a [64, 16] and b [16, 64] in bf16. A CTA of four warps.
template <ownership O>
TYLO_FN void product_and_softmax(bf16 const* a, bf16 const* b, float scale, float const* bias, int columns, bf16* y,
                                 float* log_sums) {
  this_warp const warp;
  auto const rows = multiple_of<16>{thread_rank() / warp_size * 16};
  auto const left =
      pack(load<mma_a>(warp, window<16, 16>(tile_of<16>(a, row_major<64, 16>()), rows, constant<0>{}), bf16(0.0f)));
  fragment<float, O> sums; // of the CTA; a warp's slots are those of 8 tiles, one after another
  TYLO_UNROLL for (int n = 0; n < 8; ++n) {
    auto const part = window<16, 8>(tile_of<16>(b, row_major<16, 64>()), constant<0>{}, multiple_of<8>{8 * n});
    auto const right = pack(load<mma_b>(warp, part, bf16(0.0f)));
    auto tile = filled<mma_c>(0.0f);
    mma<bf16>(tile.data, left.data, right.data);
    TYLO_UNROLL for (int s = 0; s < tile.slots; ++s) sums.data[tile.slots * n + s] = tile.data[s];
  }
  softmax_epilogue(whole_cta<128>{}, sums, scale, bias, columns, y, log_sums);
}
// [/epilogue]

// [attend]
constexpr int head = 16, block = 8;
constexpr auto scores_of_lane = local<axis::columns>(block); // 32 x 8: lane i has query i, 8 keys
constexpr auto vector_of_lane = local<axis::columns>(head);  // 32 x 16: lane i has query i
using attention_state = online_softmax<axis::columns, scores_of_lane>;

/// What queries have seen so far: the state of the softmax, and the sum of the values by their weights.
struct seen {
  attention_state state;
  fragment<float, vector_of_lane> output;
};

/// Takes in keys `first` to `first + 7`, as far as there are so many. k and v are [keys, 16].
TYLO_FN inline void take_block(seen& so_far, fragment<float, vector_of_lane> const& q, float const* k, float const* v,
                               int first, int keys, float scale_log2) {
  auto scores = filled<scores_of_lane>(masked);
  TYLO_UNROLL for (int i = 0; i < block; ++i) {
    if (first + i >= keys) continue;
    scores.data[i] = 0;
    TYLO_UNROLL for (int d = 0; d < head; ++d) scores.data[i] =
        fused_multiply_add(q.data[d], k[(first + i) * head + d], scores.data[i]);
  }
  auto const [weights, rescale] = so_far.state.update(this_warp{}, scores, scale_log2);
  so_far.output = so_far.output * rescale;
  TYLO_UNROLL for (int i = 0; i < block; ++i) {
    if (first + i >= keys) continue;
    TYLO_UNROLL for (int d = 0; d < head; ++d) so_far.output.data[d] =
        fused_multiply_add(weights.data[i], v[(first + i) * head + d], so_far.output.data[d]);
  }
}
// [/attend]

// [merge]
/// A state from memory.
template <class State, class Tile> TYLO_FN State state_of(Tile const& most, Tile const& sum) {
  constexpr auto owned = State::line_values::owned;
  return {load<owned>(this_warp{}, most, masked), load<owned>(this_warp{}, sum, 0.0f)};
}

/// o = softmax(scale * q k^T) v for 32 queries: q and o are [32, 16], k and v are [keys, 16]. A CTA of two warps that
/// take blocks of keys by turns. 2,304 bytes of shared memory.
TYLO_FN inline void attend(float const* q, float const* k, float const* v, float* o, int keys, float scale) {
  auto const matrix = row_major<32, head>();
  auto const query = load<vector_of_lane>(this_warp{}, tile_of<16>(q, matrix), 0.0f);
  auto const warp = static_cast<int>(thread_rank() / warp_size);
  seen mine{attention_state::start(), filled<vector_of_lane>(0.0f)};
  for (int first = warp * block; first < keys; first += 2 * block)
    take_block(mine, query, k, v, first, keys, scale * log2_e);

  auto* const shared = reinterpret_cast<float*>(shared_memory());
  auto const output = tile_of<16>(shared, matrix);
  auto const most = tile_of(shared + 32 * head, row_major<32, 1>()),
             sum = tile_of(shared + 32 * head + 32, row_major<32, 1>());
  if (warp == 1) {
    store(this_warp{}, output, mine.output);
    store(this_warp{}, most, mine.state.most);
    store(this_warp{}, sum, mine.state.sum);
  }
  sync_cta();
  if (warp == 1) return;
  auto const other = state_of<attention_state>(most, sum);
  auto const factors = mine.state.merge(other, scale * log2_e);
  auto const total = mine.output * factors.mine + load<vector_of_lane>(this_warp{}, output, 0.0f) * factors.theirs;
  store(this_warp{}, tile_of<16>(o, matrix), total * mine.state.normalizer());
}
// [/merge]

} // namespace examples::softmax
