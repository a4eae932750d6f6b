/// Conversion and packing of fragments in kernels, against the scalar rule.

#include "kit.hpp"
#include "pack_data.hpp"

namespace mk::test {
namespace {

/// Few enough numbers for the emulator: all payloads of 8 and 16 bits, and some of the others.
template <class From> std::vector<From> some_numbers() {
  return thinned(numbers_to_convert<From>(), sizeof(From) > 2 ? 7 : 1);
}

template <class T> std::vector<T> values_of(array<T> const& there) {
  return {there.span().begin(), there.span().end()};
}

/// Runs a kernel that makes `To` of `From`; both of its results are as expected.
template <class To, class From>
void check(std::vector<From> const& from, std::vector<To> const& expected, unsigned count,
           void (*body)(conversion_arguments const&), bool both = true) {
  array<From> const there((std::span<From const>(from)));
  array<To> const to(expected.size()), other(expected.size());
  conversion_arguments const g{there.data(), to.data(), other.data(), count};
  launch({.ctas = 2, .threads = conversion_threads}, {}, [=] { body(g); });
  EXPECT_EQ(first_difference(values_of(to), expected), expected.size());
  if (!both) return;
  EXPECT_EQ(first_difference(values_of(other), expected), expected.size());
}

template <class From> class emulator_conversions : public testing::Test {};
using sources =
    testing::Types<bf16, fp16, e4m3, e5m2, std::int8_t, std::uint8_t, float, double, std::int32_t, std::uint32_t>;
TYPED_TEST_SUITE(emulator_conversions, sources);

TYPED_TEST(emulator_conversions, are_the_scalar_rule_for_groups_and_what_is_left_of_them) {
  using From = TypeParam;
  auto const numbers = some_numbers<From>();
  auto const count = static_cast<unsigned>(numbers.size());
  for_each_number_type([&]<class To>(To) {
    check(raw_of(numbers), converted_bits<To>(numbers), count, convert_array<To, From, 5>, false);
  });
}

TYPED_TEST(emulator_conversions, into_words_are_the_scalar_rule) {
  using From = TypeParam;
  auto const numbers = some_numbers<From>();
  auto const count = static_cast<unsigned>(numbers.size());
  for_each_packed_type([&]<class To>(To) {
    check(raw_of(numbers), words_of(converted_bits<To>(numbers)), count, pack_array<To, From>);
  });
}

TEST(emulator_packed_numbers, are_converted_by_the_scalar_rule) {
  for_each_packed_type([]<class From>(From) {
    auto const numbers = numbers_to_convert<From>();
    auto const count = static_cast<unsigned>(numbers.size());
    for_each_number_type([&]<class To>(To) {
      check(words_of(raw_of(numbers)), converted_bits<To>(numbers), count, unpack_array<To, From>);
    });
  });
}

TEST(emulator_quantization, gives_a_row_of_zeros_zeros_and_a_finite_scale) {
  auto const tile = tile_to_quantize();
  auto const expected = quantized_by_loops(tile);
  array<float> const from((std::span<float const>(tile))), scales(quantized_rows);
  array<std::uint32_t> const words(expected.words.size());
  quantize_arguments const g{from.data(), words.data(), scales.data()};
  expect_clean({}, [g] { quantize(g); });
  EXPECT_EQ(values_of(words), expected.words);
  EXPECT_EQ(values_of(scales), expected.scales);
  EXPECT_EQ(scales[2], 1.0f);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(words[2 * 32 + i], 0u);
  EXPECT_EQ(words[3 * 32 + 17 / 4], 0xFE00u); // the largest of a row has the largest code
}

} // namespace
} // namespace mk::test
