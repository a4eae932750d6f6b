#pragma once

/// Kernels that the emulator and a GPU both run. What they are given and what they write are plain arrays in global
/// memory; the tests compare with plain loops.

#include <megakernels/tylo/lane/async_proxy.hpp>
#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/cluster.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/mma.hpp>
#include <megakernels/tylo/lane/thread.hpp>
#include <megakernels/tylo/lane/wgmma.hpp>
#include <megakernels/tylo/site.hpp>

#include <cstddef>
#include <cstdint>

namespace mk::test {

// --- what small kernels are made of

/// Waits for a phase of a barrier, told by its number.
TYLO_FN inline void wait_phase(tylo::mbarrier* b, unsigned phase, tylo::site at = tylo::site::here()) {
  tylo::wait(b, phase & 1, at);
}

TYLO_FN inline std::uint32_t* shared_words() { return reinterpret_cast<std::uint32_t*>(tylo::shared_memory()); }

// --- a product by one warp

inline constexpr unsigned most_rows = 32, most_columns = 24, most_depth = 32;

/// sums [rows, columns] += a [rows, depth] times the transposed b [columns, depth]. Rows of a and b lie `pitch`
/// elements apart, a multiple of 8.
struct warp_product_arguments {
  std::uint16_t const* a; ///< bits of bf16 or fp16
  std::uint16_t const* b;
  float* sums; ///< [rows, columns]
  unsigned rows, columns, depth, pitch;
};

inline constexpr unsigned warp_product_shared = (most_rows + most_columns) * most_depth * 2;

/// A ragged matrix into a tile of `tile_rows` rows of `most_depth`; what is outside becomes zero.
TYLO_FN inline void stage(std::byte* tile, unsigned tile_rows, std::uint16_t const* from, unsigned rows, unsigned depth,
                          unsigned pitch) {
  constexpr unsigned chunk = 8, chunks = most_depth / chunk;
  for (auto i = tylo::lane_rank(); i < tile_rows * chunks; i += tylo::warp_size) {
    auto const row = i / chunks, column = i % chunks * chunk;
    auto const left = row < rows && column < depth ? depth - column : 0;
    tylo::copy_async<16>(tile + i * 16, left > 0 ? from + row * pitch + column : from, left < chunk ? left * 2 : 16);
  }
}

template <class T> TYLO_FN void warp_product(warp_product_arguments const& g) {
  constexpr unsigned rows = most_rows / 16, columns = most_columns / 8, depth = most_depth / 16;
  constexpr unsigned row_bytes = most_depth * 2;
  auto* const a = tylo::shared_memory();
  auto* const b = a + most_rows * row_bytes;
  stage(a, most_rows, g.a, g.rows, g.depth, g.pitch);
  tylo::commit_copies();
  stage(b, most_columns, g.b, g.columns, g.depth, g.pitch);
  tylo::commit_copies();
  auto const lane = tylo::lane_rank();
  float sums[rows][columns][4];
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned c = 0; c < columns; ++c)
      for (unsigned i = 0; i < 4; ++i) {
        auto const row = r * 16 + lane / 4 + i / 2 * 8, column = c * 8 + lane % 4 * 2 + i % 2;
        sums[r][c][i] = row < g.rows && column < g.columns ? g.sums[row * g.columns + column] : 0.0f;
      }
  std::uint32_t fa[rows][depth][4], fb[columns][depth][2];
  tylo::await_copies<1>();
  tylo::sync_warp();
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned d = 0; d < depth; ++d)
      tylo::load_matrices(fa[r][d], a + (r * 16 + lane % 16) * row_bytes + d * 32 + lane / 16 * 16);
  tylo::await_copies<0>();
  tylo::sync_warp();
  for (unsigned c = 0; c < columns; ++c)
    for (unsigned d = 0; d < depth; ++d)
      tylo::load_matrices(fb[c][d], b + (c * 8 + lane % 8) * row_bytes + d * 32 + lane / 8 % 2 * 16);
  tylo::mma_tiles<T>(sums, fa, fb);
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned c = 0; c < columns; ++c)
      for (unsigned i = 0; i < 4; ++i) {
        auto const row = r * 16 + lane / 4 + i / 2 * 8, column = c * 8 + lane % 4 * 2 + i % 2;
        if (row < g.rows && column < g.columns) g.sums[row * g.columns + column] = sums[r][c][i];
      }
}

// --- 8 x 8 matrices

/// `Count` matrices of 8 x 8 elements through the registers of a warp.
struct matrices_arguments {
  std::uint16_t const* from;
  std::uint16_t* to;
  std::uint32_t* registers; ///< [Count, 32]
};

inline constexpr unsigned matrix_bytes = 128, matrices_shared = 8 * matrix_bytes;

template <unsigned Count, bool LoadTransposed, bool StoreTransposed>
TYLO_FN void move_matrices(matrices_arguments const& g) {
  auto* const in = tylo::shared_memory();
  auto* const out = in + 4 * matrix_bytes;
  auto const lane = tylo::lane_rank();
  for (auto i = lane; i < Count * matrix_bytes / 8; i += tylo::warp_size)
    tylo::copy_async<8>(in + i * 8, g.from + i * 4);
  tylo::commit_copies();
  tylo::await_copies<0>();
  tylo::sync_warp();
  std::uint32_t registers[Count];
  auto const row = lane % (8 * Count) * 16;
  tylo::load_matrices<LoadTransposed>(registers, in + row);
  for (unsigned i = 0; i < Count; ++i) g.registers[i * tylo::warp_size + lane] = registers[i];
  tylo::store_matrices<StoreTransposed>(out + row, registers);
  tylo::fence_async_proxy();
  tylo::sync_warp();
  if (lane != 0) return;
  tylo::bulk_store(g.to, out, Count * matrix_bytes);
  tylo::commit_bulk_stores();
  tylo::await_bulk_stores<0>();
}

// --- bulk copies

/// Adds one to each of `chunks` times `chunk_words` words, chunk by chunk through two slots of shared memory.
struct round_trip_arguments {
  std::uint32_t const* from;
  std::uint32_t* to;
  unsigned chunks, chunk_words; ///< a multiple of 4
};

inline constexpr unsigned round_trip_threads = 64;
constexpr unsigned round_trip_shared(unsigned chunk_words) { return 2 * chunk_words * 4 + 16; }

TYLO_FN inline void round_trip(round_trip_arguments const& g) {
  auto const bytes = g.chunk_words * 4;
  auto* const slots = tylo::shared_memory();
  auto* const full = reinterpret_cast<tylo::mbarrier*>(slots + 2 * bytes);
  auto const thread = tylo::thread_rank();
  if (thread == 0) {
    for (unsigned i = 0; i < 2; ++i) tylo::init(full + i, 1);
    tylo::publish_barriers();
  }
  tylo::sync_cta();
  auto const load = [&](unsigned chunk) {
    tylo::arrive_expecting(full + chunk % 2, bytes);
    tylo::bulk_load(slots + chunk % 2 * bytes, g.from + chunk * g.chunk_words, bytes, full + chunk % 2);
  };
  if (thread == 0) load(0);
  for (unsigned chunk = 0; chunk < g.chunks; ++chunk) {
    auto* const words = reinterpret_cast<std::uint32_t*>(slots + chunk % 2 * bytes);
    if (thread == 0 && chunk + 1 < g.chunks) {
      tylo::await_bulk_stores_read<0>(); // of the slot's last chunk
      load(chunk + 1);
    }
    wait_phase(full + chunk % 2, chunk / 2);
    for (auto i = thread; i < g.chunk_words; i += round_trip_threads) words[i] += 1;
    tylo::fence_async_proxy();
    tylo::sync_cta();
    if (thread == 0) {
      tylo::bulk_store(g.to + chunk * g.chunk_words, words, bytes);
      tylo::commit_bulk_stores();
    }
  }
  if (thread == 0) tylo::await_bulk_stores_read<0>();
}

/// A pair of CTAs: each loads one half of the words into both; each writes all it has, in another place.
struct multicast_arguments {
  std::uint32_t const* from; ///< [2 * half_words]
  std::uint32_t* to;         ///< [2, 2 * half_words]
  unsigned half_words;       ///< a multiple of 4
};

inline constexpr unsigned multicast_threads = 32;
constexpr unsigned multicast_shared(unsigned half_words) { return 2 * half_words * 4 + 16; }

TYLO_FN inline void multicast(multicast_arguments const& g) {
  auto const bytes = g.half_words * 4;
  auto* const words = tylo::shared_memory();
  auto* const full = reinterpret_cast<tylo::mbarrier*>(words + 2 * bytes);
  auto const thread = tylo::thread_rank(), rank = tylo::cluster_rank();
  if (thread == 0) {
    tylo::init(full, 1);
    tylo::publish_barriers();
    tylo::arrive_expecting(full, 2 * bytes);
  }
  tylo::sync_cluster();
  if (thread == 0) tylo::bulk_load_multicast(words + rank * bytes, g.from + rank * g.half_words, bytes, full, 3);
  wait_phase(full, 0);
  for (auto i = thread; i < 2 * g.half_words; i += multicast_threads)
    g.to[rank * 2 * g.half_words + i] = reinterpret_cast<std::uint32_t const*>(words)[i];
  tylo::sync_cluster();
}

// --- a product by one warpgroup

/// sums [64, N] = a [64, 64] times the transposed b [N, 64], from what they are where `accumulate`.
struct group_product_arguments {
  tylo::bf16 const* a;
  tylo::bf16 const* b;
  float* sums;
  bool accumulate;
};

inline constexpr unsigned group_depth = 64, group_tile_bytes = 64 * group_depth * 2;
inline constexpr unsigned group_product_shared = 2 * group_tile_bytes;

TYLO_FN inline void fill_tile(std::byte* tile, tylo::bf16 const* from, unsigned rows) {
  for (auto i = tylo::thread_rank(); i < rows * group_depth; i += tylo::warpgroup_size) {
    auto const at = i * 2;
    *reinterpret_cast<tylo::bf16*>(tile + (at ^ (at >> 7 & 7) << 4)) = from[i];
  }
}

/// Sums of a warpgroup to a matrix [64, N].
template <unsigned N> TYLO_FN void put_sums(float* to, tylo::accumulator<N> const& sums) {
  auto const thread = tylo::thread_rank();
  for (unsigned i = 0; i < N / 2; ++i)
    to[tylo::accumulator_row(thread, i) * N + tylo::accumulator_column(thread, i)] = sums.values[i];
}

template <unsigned N> TYLO_FN void group_product(group_product_arguments const& g) {
  auto* const a = tylo::shared_memory();
  auto* const b = a + group_tile_bytes;
  fill_tile(a, g.a, 64);
  fill_tile(b, g.b, N);
  tylo::fence_async_proxy();
  tylo::sync_cta();
  auto const thread = tylo::thread_rank();
  tylo::accumulator<N> sums;
  for (unsigned i = 0; i < N / 2; ++i)
    sums.values[i] =
        g.accumulate ? g.sums[tylo::accumulator_row(thread, i) * N + tylo::accumulator_column(thread, i)] : -77.0f;
  tylo::fence_products();
  for (unsigned k = 0; k < group_depth; k += tylo::product_depth)
    tylo::multiply(sums, tylo::factor_of(a, k), tylo::factor_of(b, k), k > 0 || g.accumulate);
  tylo::commit_products();
  tylo::await_products<0>(sums);
  put_sums(g.sums, sums);
}

/// Where a factor of 16 columns lies, by the rules of its descriptor.
struct placement {
  unsigned swizzle;                     ///< mode: bits 62 and 63
  std::uint32_t pitch, leading, stride; ///< bytes between rows, between halves of a row, between 8 rows
};

/// Modes: 0 without a swizzle, 1 of 128 bytes, 2 of 64, 3 of 32.
inline constexpr placement placements[] = {{0, 16, 128, 256},  {0, 16, 8192, 128}, {1, 128, 16, 1024},
                                           {1, 128, 16, 2048}, {2, 64, 16, 512},   {2, 64, 16, 1024},
                                           {3, 32, 16, 256},   {3, 32, 16, 512}};

TYLO_FN inline void put_factor(std::byte* tile, placement const& p, tylo::bf16 const* from, unsigned rows) {
  auto const key = p.swizzle == 0 ? 0u : (1u << (4 - p.swizzle)) - 1;
  for (auto i = tylo::thread_rank(); i < rows * 16; i += tylo::warpgroup_size) {
    auto const row = i / 16, column = i % 16;
    auto const at = row / 8 * p.stride + row % 8 * p.pitch + column / 8 * p.leading + column % 8 * 2;
    *reinterpret_cast<tylo::bf16*>(tile + (at ^ (at >> 7 & key) << 4)) = from[i];
  }
}

TYLO_FN inline tylo::shared_factor placed_factor(std::byte const* tile, placement const& p) {
  auto const start = tylo::factor_of(tile, 0).bits & 0x3FFF;
  return {std::uint64_t(p.swizzle) << 62 | std::uint64_t(p.stride >> 4) << 32 | std::uint64_t(p.leading >> 4) << 16 |
          start};
}

/// One product of 16 columns of a [64, 16] and b [N, 16].
struct placed_product_arguments {
  tylo::bf16 const* a;
  tylo::bf16 const* b;
  float* sums;
  placement where;
};

inline constexpr unsigned placed_product_shared = 32768;

template <unsigned N> TYLO_FN void placed_product(placed_product_arguments const& g) {
  auto* const a = tylo::shared_memory();
  auto* const b = a + placed_product_shared / 2;
  put_factor(a, g.where, g.a, 64);
  put_factor(b, g.where, g.b, N);
  tylo::fence_async_proxy();
  tylo::sync_cta();
  tylo::accumulator<N> sums;
  for (auto& v : sums.values) v = 0;
  tylo::fence_products();
  tylo::multiply(sums, placed_factor(a, g.where), placed_factor(b, g.where), false);
  tylo::commit_products();
  tylo::await_products<0>(sums);
  put_sums(g.sums, sums);
}

} // namespace mk::test
