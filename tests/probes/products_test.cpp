/// One tile of a warpgroup's product against plain loops, and which thread holds which sum.

#include <megakernels/tylo/lane/wgmma.hpp>

#include "../cuda/kit.hpp"
#include "gpu_array.hpp"
#include "products.hpp"

namespace mk::test {
namespace {

using tylo::bf16;

/// Whole numbers from -64 to 64: all sums are exact.
std::vector<bf16> whole_numbers(std::size_t count, std::uint64_t seed) {
  std::vector<bf16> result(count);
  std::mt19937_64 random(seed);
  for (auto& v : result) v = bf16(static_cast<float>(random() % 129) - 64);
  return result;
}

std::vector<float> product_of(std::vector<bf16> const& a, std::vector<bf16> const& b, std::vector<float> sums) {
  auto const columns = b.size() / product_side;
  sums.resize(product_side * columns);
  for (std::size_t m = 0; m < product_side; ++m)
    for (std::size_t n = 0; n < columns; ++n)
      for (std::size_t k = 0; k < product_side; ++k)
        sums[m * columns + n] +=
            static_cast<float>(a[m * product_side + k]) * static_cast<float>(b[n * product_side + k]);
  return sums;
}

class products : public gpu_test, public testing::WithParamInterface<std::uint32_t> {
protected:
  void check(std::vector<bf16> const& a, std::vector<bf16> const& b, std::vector<float> const& initial) {
    auto const columns = GetParam();
    gpu_array<bf16> const a_there(a), b_there(b);
    gpu_array<float> const initial_there(initial), matrix(product_side * columns), by_thread(product_side * columns);
    product_arguments const arguments{.a = a_there.data(),
                                      .b = b_there.data(),
                                      .initial = initial.empty() ? nullptr : initial_there.data(),
                                      .matrix = matrix.data(),
                                      .by_thread = by_thread.data(),
                                      .columns = columns};
    ASSERT_EQ(start_product(arguments, nullptr), cudaSuccess);
    auto const expected = product_of(a, b, initial);
    EXPECT_EQ(matrix.fetch(), expected);

    // The PTX ISA's figure of the fragment D, in words: warp w has rows 16 w to 16 w + 15. In each block of 8 columns a
    // lane has two neighbours in row `lane / 4`, and two in the row 8 below.
    auto const held = by_thread.fetch();
    std::size_t next = 0;
    for (std::size_t warp = 0; warp < 4; ++warp)
      for (std::size_t lane = 0; lane < 32; ++lane)
        for (std::size_t block = 0; block < columns / 8; ++block)
          for (std::size_t below : {0, 8})
            for (std::size_t neighbour : {0, 1}) {
              auto const row = 16 * warp + lane / 4 + below, column = 8 * block + 2 * (lane % 4) + neighbour;
              ASSERT_EQ(held[next++], expected[row * columns + column])
                  << "warp " << warp << ", lane " << lane << ", row " << row << ", column " << column;
            }
  }
};

TEST_P(products, equal_plain_loops) {
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    check(whole_numbers(product_side * product_side, seed), whole_numbers(GetParam() * product_side, seed + 100), {});
}

TEST_P(products, add_to_what_is_there) {
  std::vector<float> initial(product_side * GetParam());
  for (std::size_t i = 0; i < initial.size(); ++i) initial[i] = static_cast<float>(i * 37 % 2001) - 1000;
  check(whole_numbers(product_side * product_side, 7), whole_numbers(GetParam() * product_side, 8), initial);
}

/// One element of each factor is not zero: its product is in its place and nowhere else.
TEST_P(products, each_place_alone) {
  for (std::size_t i = 0; i < product_side; ++i) {
    std::vector<bf16> a(product_side * product_side), b(GetParam() * product_side);
    auto const k = (i * 29 + 3) % product_side;
    a[i * product_side + k] = bf16(3.0f);
    b[(i * 5 % GetParam()) * product_side + k] = bf16(7.0f);
    check(a, b, {});
  }
}

INSTANTIATE_TEST_SUITE_P(columns, products, testing::Values(8u, 64u), testing::PrintToStringParamName());

/// No GPU needed: the threads of a warpgroup hold each element once.
TEST(product_ownership, covers_the_matrix_once) {
  for (unsigned columns : {8u, 64u}) {
    std::vector<int> holders(tylo::product_rows * columns);
    for (unsigned thread = 0; thread < tylo::warpgroup_size; ++thread)
      for (unsigned i = 0; i < columns / 2; ++i)
        ++holders.at(tylo::accumulator_row(thread, i) * columns + tylo::accumulator_column(thread, i));
    EXPECT_EQ(holders, std::vector<int>(holders.size(), 1));
  }
}

} // namespace
} // namespace mk::test
