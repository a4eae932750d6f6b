#include <megakernels/ops/reference/exponential.hpp>
#include <megakernels/ops/reference/weighted_sum.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace mk::reference {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(exponential, within_one_ulp) {
  double worst = 0;
  for (std::uint32_t bits = 0; bits < 0xFF800000u; bits += 4099) {
    float const x = std::bit_cast<float>(bits);
    if (!(x > -86.98f && x < 88.7228f)) continue;
    float const right = static_cast<float>(std::exp(static_cast<double>(x)));
    auto const ulp = static_cast<double>(std::nextafter(right, infinity)) - static_cast<double>(right);
    worst = std::max(worst, std::abs(static_cast<double>(exponential(x)) - std::exp(static_cast<double>(x))) / ulp);
  }
  EXPECT_LT(worst, 1.01);
}

TEST(exponential, ends_of_the_range) {
  EXPECT_EQ(exponential(0.0f), 1);
  EXPECT_EQ(exponential(-0.0f), 1);
  EXPECT_EQ(exponential(-infinity), 0);
  EXPECT_EQ(exponential(infinity), infinity);
  EXPECT_EQ(exponential(88.73f), infinity);
  EXPECT_EQ(exponential(std::numeric_limits<float>::max()), infinity);
  EXPECT_EQ(exponential(std::numeric_limits<float>::lowest()), 0);
  EXPECT_EQ(exponential(-87.4f), 0);
  EXPECT_TRUE(std::isnan(exponential(NAN)));
  EXPECT_TRUE(std::isnan(exponential(-NAN)));
}

TEST(weighted_sum, the_same_bits_on_every_machine_and_in_any_pieces) {
  std::mt19937 bits(1);
  auto const number = [&] { return static_cast<float>(bits()) / 4294967296.0f - 0.5f; };
  for (std::int64_t width : {32, 64, 96, 160, 1024}) {
    constexpr std::int64_t rows = 3, count = 21;
    std::vector<float> weight(rows * count), value(static_cast<std::size_t>(count * width));
    for (auto& w : weight) w = number();
    for (auto& v : value) v = number();
    std::vector<float> expected(static_cast<std::size_t>(rows * width), 1.0f);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < count; ++j)
        for (std::int64_t i = 0; i < width; ++i)
          expected[static_cast<std::size_t>(r * width + i)] +=
              weight[static_cast<std::size_t>(r * count + j)] * value[static_cast<std::size_t>(j * width + i)];
    for (auto m : {machine::baseline, machine::avx2, machine::avx512}) {
      if (m > this_machine()) break;
      std::vector<float> sum(expected.size(), 1.0f);
      for (std::int64_t first = 0; first < count; first += 8)
        run({weight.data() + first, count, rows, value.data() + first * width, std::min<std::int64_t>(8, count - first),
             width, sum.data()},
            m);
      EXPECT_EQ(sum, expected);
    }
  }
}

} // namespace
} // namespace mk::reference
