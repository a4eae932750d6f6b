/// The kernels of tests/emulator/lane_kernels.hpp on a GPU, against the same plain loops as there.

#include "../cuda/kit.hpp"
#include "../emulator/lane_data.hpp"
#include "gpu_array.hpp"
#include "lanes.hpp"

namespace mk::test {
namespace {

class lanes : public gpu_test {};

template <class T> void check_warp_products(factor type) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 24; ++i) {
    ragged_product<T> const p(random);
    gpu_array<T> const a_there(p.a), b_there(p.b);
    gpu_array<float> const sums(p.initial);
    warp_product_arguments const g{.a = &a_there.data()->bits,
                                   .b = &b_there.data()->bits,
                                   .sums = sums.data(),
                                   .rows = p.rows,
                                   .columns = p.columns,
                                   .depth = p.depth,
                                   .pitch = p.pitch};
    ASSERT_EQ(start_warp_product(g, type), cudaSuccess);
    ASSERT_EQ(sums.fetch(), p.expected()) << p.text();
  }
}

TEST_F(lanes, products_of_a_warp) {
  check_warp_products<tylo::bf16>(factor::bf16);
  check_warp_products<tylo::fp16>(factor::fp16);
}

TEST_F(lanes, matrices_go_through_registers) {
  for (unsigned count : {1u, 2u, 4u})
    for (bool const load : {false, true})
      for (bool const store : {false, true}) {
        auto const from = any_bits<std::uint16_t>(count * 64, count);
        gpu_array<std::uint16_t> const there(from), to(from.size());
        gpu_array<std::uint32_t> const registers(count * 32);
        ASSERT_EQ(start_move_matrices({there.data(), to.data(), registers.data()}, count, load, store), cudaSuccess);
        EXPECT_EQ(to.fetch(), load != store ? transposed_matrices(from) : from);
        auto const held = load ? transposed_matrices(from) : from;
        auto const found = registers.fetch();
        for (unsigned m = 0; m < count; ++m)
          for (unsigned lane = 0; lane < 32; ++lane) {
            auto const at = m * 64 + lane / 4 * 8 + lane % 4 * 2;
            ASSERT_EQ(found[m * 32 + lane], held[at] | std::uint32_t(held[at + 1]) << 16) << "matrix " << m;
          }
      }
}

TEST_F(lanes, bulk_copies_go_there_and_back) {
  for (unsigned chunk_words : {4u, 36u, 1000u}) {
    constexpr unsigned chunks = 7;
    auto from = any_bits<std::uint32_t>(chunks * chunk_words, chunk_words);
    gpu_array<std::uint32_t> const there(from), to(from.size());
    ASSERT_EQ(start_round_trip({there.data(), to.data(), chunks, chunk_words}), cudaSuccess);
    for (auto& w : from) ++w;
    EXPECT_EQ(to.fetch(), from);
  }
}

TEST_F(lanes, one_load_for_two_ctas) {
  constexpr unsigned half_words = 100;
  auto const from = any_bits<std::uint32_t>(2 * half_words, 3);
  gpu_array<std::uint32_t> const there(from), to(2 * from.size());
  ASSERT_EQ(start_multicast({there.data(), to.data(), half_words}), cudaSuccess);
  auto expected = from;
  expected.insert(expected.end(), from.begin(), from.end());
  EXPECT_EQ(to.fetch(), expected);
}

TEST_F(lanes, products_of_a_warpgroup) {
  for (unsigned columns : {8u, 64u})
    for (bool const accumulate : {false, true}) {
      auto const a = whole_numbers<tylo::bf16>(64 * group_depth, 64, columns);
      auto const b = whole_numbers<tylo::bf16>(columns * group_depth, 64, columns + 50);
      std::vector<float> initial(std::size_t(64) * columns);
      for (std::size_t i = 0; i < initial.size(); ++i) initial[i] = static_cast<float>(i * 37 % 2001) - 1000;
      gpu_array<tylo::bf16> const a_there(a), b_there(b);
      gpu_array<float> const sums(initial);
      ASSERT_EQ(start_group_product({a_there.data(), b_there.data(), sums.data(), accumulate}, columns), cudaSuccess);
      EXPECT_EQ(sums.fetch(), product_of(a, b, accumulate ? initial : std::vector<float>(initial.size()), columns,
                                         group_depth, group_depth));
    }
}

TEST_F(lanes, factors_lie_as_their_descriptors_say) {
  for (unsigned columns : {8u, 64u}) {
    auto const a = whole_numbers<tylo::bf16>(64 * 16, 200, columns);
    auto const b = whole_numbers<tylo::bf16>(columns * 16, 200, columns + 1);
    gpu_array<tylo::bf16> const a_there(a), b_there(b);
    for (auto const& where : placements) {
      gpu_array<float> const sums(std::size_t(64) * columns);
      ASSERT_EQ(start_placed_product({a_there.data(), b_there.data(), sums.data(), where}, columns), cudaSuccess);
      EXPECT_EQ(sums.fetch(), product_of(a, b, std::vector<float>(std::size_t(64) * columns), columns, 16, 16))
          << "mode " << where.swizzle << ", " << where.stride << " bytes between 8 rows";
    }
  }
}

} // namespace
} // namespace mk::test
