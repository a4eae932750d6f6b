#include <megakernels/ops/reference/dot.hpp>

#include "kit.hpp"

namespace mk::reference {
namespace {

std::vector<machine> runnable() {
  std::vector<machine> result;
  for (auto m : {machine::baseline, machine::avx2, machine::avx512})
    if (m <= this_machine()) result.push_back(m);
  return result;
}

/// The sum as its contract has it.
template <class A> A plain(std::int64_t count, A const* x, A const* w) {
  return sum<A>(count, [&](std::int64_t i) { return x[i] * w[i]; });
}

template <class A> std::vector<A> numbers(std::int64_t count, std::uint64_t seed) {
  kit::random r(seed);
  std::vector<A> result(static_cast<std::size_t>(count));
  for (auto& v : result) v = static_cast<A>(r.uniform());
  return result;
}

template <class A, class Run> void expect_blocks(Run run_one) {
  for (std::int64_t inner : {0, 32, 64, 576})
    for (std::int64_t rows : {0, 1, 2, 3, 4, 5, 6, 7, 13}) {
      auto const x = numbers<A>(rows * inner, 1);
      auto const w = numbers<A>(dot_columns * inner, 2);
      std::int64_t const stride = 7;
      std::vector<A> out(static_cast<std::size_t>(rows * stride + 1), A(-7));
      run_one(
          {.x = x.data(), .weight = w.data(), .rows = rows, .inner = inner, .out = out.data(), .out_stride = stride});
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < stride; ++c)
          ASSERT_EQ(out[static_cast<std::size_t>(r * stride + c)],
                    c < dot_columns ? plain(inner, x.data() + r * inner, w.data() + c * inner) : A(-7))
              << r << ", " << c << " of " << rows << " rows, inner " << inner;
    }
}

TEST(dot_block, has_the_bits_of_the_plain_sum_at_every_level) {
  for (auto m : runnable()) expect_blocks<float>([&](dot_block<float> const& b) { run(b, m); });
  expect_blocks<double>([](dot_block<double> const& b) { run(b); });
}

TEST(dot_stream, has_the_bits_of_the_plain_sum_at_every_level) {
  for (auto type :
       {data_type::fp32, data_type::bf16, data_type::fp16, data_type::e4m3, data_type::e5m2, data_type::int8})
    for (std::int64_t inner : {0, 1, 3, 31, 32, 33, 511, 576})
      for (std::int64_t columns : {0, 1, 2, 3, 4, 5, 9}) {
        // Rows further apart than they are long, at an odd address: there is no alignment to rely on.
        auto const pitch = inner * bytes_of(type) + 3;
        auto const values = type == data_type::int8 ? kit::integers(type, {columns, inner}, -128, 127, 3)
                                                    : kit::uniform(type, {columns, inner}, 3);
        kit::memory weight(columns * pitch + 1, 1);
        for (std::int64_t c = 0; c < columns; ++c)
          if (inner > 0)
            std::memcpy(weight.data() + 1 + c * pitch, values.at(c, 0),
                        static_cast<std::size_t>(inner * bytes_of(type)));
        auto x = numbers<float>(padded(inner), 4);
        std::fill(x.begin() + inner, x.end(), 0.0f);
        for (auto m : runnable()) {
          std::vector<float> out(static_cast<std::size_t>(columns) + 1, -7.0f);
          run({.x = x.data(),
               .type = type,
               .weight = weight.data() + 1,
               .row_bytes = pitch,
               .columns = columns,
               .inner = inner,
               .out = out.data()},
              m);
          for (std::int64_t c = 0; c < columns; ++c) {
            std::vector<float> row;
            for (std::int64_t k = 0; k < inner; ++k) row.push_back(static_cast<float>(values.get(c, k)));
            ASSERT_EQ(out[static_cast<std::size_t>(c)], plain(inner, x.data(), row.data()))
                << name_of(type) << " inner " << inner << " column " << c << " of " << columns << " level "
                << static_cast<int>(m);
          }
          EXPECT_EQ(out.back(), -7.0f);
        }
      }
}

} // namespace
} // namespace mk::reference
