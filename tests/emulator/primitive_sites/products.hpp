#pragma once

/// Products, of a warp and of a warpgroup, and the matrices of 8 x 8 that they are made of.

#include <megakernels/tylo/emulator/tensor_map.hpp>
#include <megakernels/tylo/lane/async_proxy.hpp>
#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/thread.hpp>
#include <megakernels/tylo/lane/wgmma.hpp>
#include <megakernels/tylo/numbers.hpp>

#include "../kit.hpp"
#include "../lane_data.hpp"
#include "../lane_kernels.hpp"
#include "words.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mk::test::primitive_sites {

inline constexpr unsigned factor_rows = 8, factor_bytes = factor_rows * 128, products = 5;

/// A first factor, and second ones of so many products whose sums are added up.
struct factors {
  explicit factors(unsigned count)
      : a(whole_numbers<bf16>(64 * group_depth, 8, 1)),
        b(whole_numbers<bf16>(std::size_t(count) * factor_rows * group_depth, 8, 2)), sums(64 * factor_rows) {
    for (auto i = b.begin(); i != b.end(); i += factor_rows * group_depth)
      sums = product_of(a, {i, i + factor_rows * group_depth}, sums, factor_rows, group_depth, group_depth);
  }
  std::vector<bf16> a, b;
  std::vector<float> sums;
};

/// A tile as `factor_of` has it.
inline std::vector<std::byte> swizzled_tile(std::vector<bf16> const& dense) {
  std::vector<std::byte> tile(dense.size() * 2);
  for (std::size_t i = 0; i < dense.size(); ++i)
    std::memcpy(tile.data() + emulator::swizzled(i * 2, emulator::tensor_swizzle::bytes_128), &dense[i], 2);
  return tile;
}

/// A warp loads the second factors of products into two slots; a warpgroup has one product under way while it waits
/// for the one before.
inline void products_from_a_ring(std::byte const* a, std::byte const* b, float* to) {
  auto* const a_tile = shared_memory();
  auto* const slots = a_tile + group_tile_bytes;
  auto* const full = reinterpret_cast<mbarrier*>(slots + 2 * factor_bytes);
  auto* const empty = full + 2;
  auto* const a_full = full + 4;
  auto const thread = thread_rank();
  if (thread == 0) {
    for (unsigned i = 0; i < 2; ++i) {
      init(full + i, 1);
      init(empty + i, warpgroup_size);
    }
    init(a_full, 1);
    publish_barriers();
  }
  sync_cta();
  if (thread >= warpgroup_size) {
    if (thread != warpgroup_size) return;
    arrive_expecting(a_full, group_tile_bytes);
    bulk_load(a_tile, a, group_tile_bytes, a_full);
    for (unsigned i = 0; i < products; ++i) {
      wait_phase(empty + i % 2, i / 2 + 1);
      arrive_expecting(full + i % 2, factor_bytes);
      bulk_load(slots + i % 2 * factor_bytes, b + i * factor_bytes, factor_bytes, full + i % 2);
    }
    return;
  }
  accumulator<factor_rows> sums;
  for (auto& v : sums.values) v = 0;
  wait_phase(a_full, 0);
  for (unsigned i = 0; i < products; ++i) {
    wait_phase(full + i % 2, i / 2);
    fence_products();
    for (unsigned k = 0; k < group_depth; k += product_depth)
      multiply(sums, factor_of(a_tile, k), factor_of(slots + i % 2 * factor_bytes, k), true);
    commit_products();
    await_products<1>(sums);
    if (i > 0) arrive(empty + (i - 1) % 2);
  }
  await_products<0>(sums);
  put_sums(to, sums);
}

inline bool run_products_from_a_ring(options const& how) {
  static factors const f(products);
  array<std::byte> const a(swizzled_tile(f.a)), b(swizzled_tile(f.b));
  array<float> const to(f.sums.size());
  launch({.threads = warpgroup_size + 32, .shared_bytes = group_tile_bytes + 2 * factor_bytes + 40}, how,
         [a = a.data(), b = b.data(), to = to.data()] { products_from_a_ring(a, b, to); });
  return contents_of(to) == f.sums;
}

/// Factors that threads write, again and again.
inline void products_of_written_factors(bf16 const* a, bf16 const* b, float* to) {
  auto* const a_tile = shared_memory();
  auto* const b_tile = a_tile + group_tile_bytes;
  accumulator<factor_rows> sums;
  for (auto& v : sums.values) v = 0;
  for (unsigned i = 0; i < 2; ++i) {
    fill_tile(a_tile, a, 64);
    fill_tile(b_tile, b + i * factor_rows * group_depth, factor_rows);
    fence_async_proxy();
    sync_cta();
    fence_products();
    for (unsigned k = 0; k < group_depth; k += product_depth)
      multiply(sums, factor_of(a_tile, k), factor_of(b_tile, k), true);
    commit_products();
    await_products<0>(sums);
    sync_cta();
  }
  put_sums(to, sums);
}

inline bool run_products_of_written_factors(options const& how) {
  static factors const f(2);
  array<bf16> const a(f.a), b(f.b);
  array<float> const to(f.sums.size());
  launch({.threads = warpgroup_size, .shared_bytes = group_tile_bytes + factor_bytes}, how,
         [a = a.data(), b = b.data(), to = to.data()] { products_of_written_factors(a, b, to); });
  return contents_of(to) == f.sums;
}

// --- those of lane_kernels.hpp

inline bool run_warp_product(options const& how) {
  static auto const a = whole_numbers<bf16>(most_rows * most_depth, 8, 3);
  static auto const b = whole_numbers<bf16>(most_columns * most_depth, 8, 4);
  std::vector<float> const none(most_rows * most_columns);
  array<bf16> const a_there(a), b_there(b);
  array<float> const sums(none);
  warp_product_arguments const g{reinterpret_cast<std::uint16_t const*>(a_there.data()),
                                 reinterpret_cast<std::uint16_t const*>(b_there.data()),
                                 sums.data(),
                                 most_rows,
                                 most_columns,
                                 most_depth,
                                 most_depth};
  launch({.shared_bytes = warp_product_shared}, how, [g] { warp_product<bf16>(g); });
  return contents_of(sums) == product_of(a, b, none, most_columns, most_depth, most_depth);
}

inline bool run_move_matrices(options const& how) {
  auto const from = any_bits<std::uint16_t>(4 * 64, 5);
  array<std::uint16_t> const from_there(from), to(from.size());
  array<word> const registers(4 * 32);
  matrices_arguments const g{from_there.data(), to.data(), registers.data()};
  launch({.shared_bytes = matrices_shared}, how, [g] { move_matrices<4, false, true>(g); });
  return contents_of(to) == transposed_matrices(from);
}

inline bool run_group_product(options const& how) {
  static factors const f(1);
  array<bf16> const a(f.a), b(f.b);
  array<float> const sums(f.sums.size());
  group_product_arguments const g{a.data(), b.data(), sums.data(), false};
  launch({.threads = warpgroup_size, .shared_bytes = group_product_shared}, how,
         [g] { group_product<factor_rows>(g); });
  return contents_of(sums) == f.sums;
}

inline bool run_placed_product(options const& how) {
  static auto const a = whole_numbers<bf16>(64 * 16, 8, 6), b = whole_numbers<bf16>(8 * 16, 8, 7);
  array<bf16> const a_there(a), b_there(b);
  array<float> const sums(64 * 8);
  placed_product_arguments const g{a_there.data(), b_there.data(), sums.data(), placements[2]};
  launch({.threads = warpgroup_size, .shared_bytes = placed_product_shared}, how, [g] { placed_product<8>(g); });
  return contents_of(sums) == product_of(a, b, std::vector<float>(64 * 8), 8, 16, 16);
}

} // namespace mk::test::primitive_sites
