/// Products of one warp and the movement of their matrices, against plain loops.

#include <megakernels/tylo/emulator/internal/matrix_arithmetic.hpp>
#include <megakernels/tylo/lane/mma.hpp>

#include "kit.hpp"
#include "lane_data.hpp"
#include "lane_kernels.hpp"

#include <cmath>

namespace mk::test {
namespace {

template <class T> std::vector<std::uint16_t> bits_of(std::vector<T> const& values) {
  std::vector<std::uint16_t> result;
  for (auto v : values) result.push_back(v.bits);
  return result;
}

template <class T> class emulator_mma : public testing::Test {};
using factor_types = testing::Types<bf16, fp16>;
TYPED_TEST_SUITE(emulator_mma, factor_types);

TYPED_TEST(emulator_mma, ragged_products_equal_plain_loops) {
  using T = TypeParam;
  std::mt19937_64 random(7);
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    ragged_product<T> const p(random);
    array<std::uint16_t> const a_there(bits_of(p.a)), b_there(bits_of(p.b));
    array<float> const sums(p.initial);
    warp_product_arguments const g{a_there.data(), b_there.data(), sums.data(), p.rows, p.columns, p.depth, p.pitch};
    options how;
    how.seed = seed;
    how.batched = seed % 2 == 1;
    auto const counts = launch({.shared_bytes = warp_product_shared}, how, [g] { warp_product<T>(g); });
    EXPECT_EQ(counts.products, 12u);
    ASSERT_EQ(std::vector<float>(sums.span().begin(), sums.span().end()), p.expected())
        << p.text() << ", seed " << seed;
  }
}

TYPED_TEST(emulator_mma, in_one_meeting_it_has_the_same_bits) {
  using T = TypeParam;
  std::mt19937_64 random(8);
  std::vector<T> a(32 * 32), b(24 * 32);
  for (auto* const of : {&a, &b})
    for (auto& v : *of) v = T(static_cast<float>(random()) / static_cast<float>(random.max()) - 0.4f);
  array<std::uint16_t> const a_there(bits_of(a)), b_there(bits_of(b));
  std::vector<float> results[2];
  for (bool const batched : {false, true}) {
    array<float> const sums(32 * 24, contents::zero);
    warp_product_arguments const g{a_there.data(), b_there.data(), sums.data(), 32, 24, 32, 32};
    options how;
    how.batched = batched;
    launch({.shared_bytes = warp_product_shared}, how, [g] { warp_product<T>(g); });
    results[batched].assign(sums.span().begin(), sums.span().end());
  }
  EXPECT_EQ(results[0], results[1]);
  // In the order that is promised: from the first column of a to the last.
  EXPECT_EQ(results[0], product_of(a, b, std::vector<float>(32 * 24), 24, 32, 32));
}

TEST(emulator_mma_elements, all_of_both_types_are_widened_exactly) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    auto const check = [&](float found, float expected) {
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(found)) << bits;
      else
        EXPECT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected)) << bits;
    };
    check(emulator::float_of_fp16(bits), static_cast<float>(fp16::from_bits(static_cast<std::uint16_t>(bits))));
    check(emulator::float_of_bf16(bits), static_cast<float>(bf16::from_bits(static_cast<std::uint16_t>(bits))));
  }
}

template <unsigned Count, bool LoadTransposed, bool StoreTransposed> void check_matrices(std::uint64_t seed) {
  auto const from = any_bits<std::uint16_t>(Count * 64, seed);
  array<std::uint16_t> const there(from), to(Count * 64);
  array<std::uint32_t> const registers(Count * 32);
  matrices_arguments const g{there.data(), to.data(), registers.data()};
  expect_clean({.shared_bytes = matrices_shared}, [g] { move_matrices<Count, LoadTransposed, StoreTransposed>(g); });
  auto const held = LoadTransposed ? transposed_matrices(from) : from;
  for (unsigned m = 0; m < Count; ++m)
    for (unsigned lane = 0; lane < 32; ++lane) {
      auto const at = m * 64 + lane / 4 * 8 + lane % 4 * 2;
      ASSERT_EQ(registers[m * 32 + lane], held[at] | std::uint32_t(held[at + 1]) << 16) << "matrix " << m;
    }
  auto const expected = LoadTransposed != StoreTransposed ? transposed_matrices(from) : from;
  EXPECT_EQ(std::vector<std::uint16_t>(to.span().begin(), to.span().end()), expected);
}

TEST(emulator_matrices, go_through_registers) {
  check_matrices<1, false, false>(1);
  check_matrices<1, true, false>(2);
  check_matrices<2, false, false>(3);
  check_matrices<2, false, true>(4);
  check_matrices<4, false, false>(5);
  check_matrices<4, true, false>(6);
  check_matrices<4, false, true>(7);
  check_matrices<4, true, true>(8);
}

// --- faults

void fill(std::byte* shared, unsigned bytes) {
  for (auto i = lane_rank() * 4; i < bytes; i += 128) *reinterpret_cast<std::uint32_t*>(shared + i) = i;
  sync_warp();
}

TEST(emulator_matrices, a_row_that_is_not_aligned) {
  expect_fault(fault_kind::alignment, {"load_matrices", "mma_test.cpp", "byte 8 of the 512", "no multiple of 16"},
               {.shared_bytes = 512}, [] {
                 fill(shared_memory(), 512);
                 std::uint32_t r[1];
                 load_matrices(r, shared_memory() + lane_rank() * 16 + 8);
               });
}

TEST(emulator_matrices, a_row_that_is_not_in_shared_memory) {
  array<std::byte> const global(512, contents::zero, "weights");
  expect_fault(fault_kind::bounds, {"store_matrices", "mma_test.cpp", "weights", "not in shared memory"},
               {.shared_bytes = 512}, [global = global.data()] {
                 std::uint32_t const r[4] = {};
                 store_matrices(global + lane_rank() * 16, r);
               });
  expect_fault(fault_kind::bounds, {"load_matrices", "mma_test.cpp"}, {.shared_bytes = 496}, [] {
    fill(shared_memory(), 496);
    std::uint32_t r[4];
    load_matrices(r, shared_memory() + lane_rank() * 16);
  });
}

TEST(emulator_matrices, rows_of_lanes_without_a_matrix_are_not_looked_at) {
  array<std::uint32_t> const out(32);
  expect_clean({.shared_bytes = 128}, [out = out.data()] {
    fill(shared_memory(), 128);
    std::uint32_t r[1];
    load_matrices(r, shared_memory() + lane_rank() * 16);
    out[lane_rank()] = r[0];
  });
  EXPECT_EQ(out[31], 124u);
}

TEST(emulator_matrices, rows_that_nothing_has_written) {
  expect_fault(fault_kind::unwritten, {"of the 512 bytes", "nothing has written", "mma_test.cpp"},
               {.shared_bytes = 512}, [] {
                 fill(shared_memory(), 256);
                 std::uint32_t r[4];
                 load_matrices(r, shared_memory() + lane_rank() * 16);
               });
}

TEST(emulator_matrices, rows_of_another_warp_without_a_barrier) {
  auto const kernel = [](bool meets) {
    return [meets] {
      auto* const shared = shared_memory();
      if (thread_rank() < 32) fill(shared, 512);
      if (meets) sync_cta();
      if (thread_rank() < 32) return;
      std::uint32_t r[4];
      load_matrices(r, shared + lane_rank() * 16);
    };
  };
  expect_clean({.threads = 64, .shared_bytes = 512}, kernel(true));
  expect_fault(fault_kind::race, {"nothing orders it", "mma_test.cpp", "CTA 0, thread"},
               {.threads = 64, .shared_bytes = 512}, kernel(false));
}

TEST(emulator_mma_faults, lanes_part_before_a_product) {
  expect_fault(fault_kind::divergence, {"mma", "sync_warp", "mma_test.cpp"}, {}, [] {
    float sums[4] = {};
    std::uint32_t const a[4] = {}, b[2] = {};
    if (lane_rank() < 5)
      mma<bf16>(sums, a, b);
    else
      sync_warp();
  });
  expect_fault(fault_kind::divergence, {"mma of fp16", "mma of bf16", "mma_test.cpp"}, {}, [] {
    float sums[4] = {};
    std::uint32_t const a[4] = {}, b[2] = {};
    lane_rank() < 5 ? mma<bf16>(sums, a, b) : mma<fp16>(sums, a, b);
  });
  expect_fault(fault_kind::divergence, {"load_matrices", "mma_test.cpp", "a lane ends"}, {.shared_bytes = 512}, [] {
    fill(shared_memory(), 512);
    if (lane_rank() == 3) return;
    std::uint32_t r[1];
    load_matrices(r, shared_memory());
  });
}

} // namespace
} // namespace mk::test
