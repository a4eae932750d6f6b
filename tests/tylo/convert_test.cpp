#include <megakernels/tylo/fragment/convert.hpp>

#include "conversion_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace mk::test {
namespace {

using namespace tylo;

/// The value of an element, without the code under test. fp64 holds the values of all types.
template <class T> double exact(T x) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(x);
  else
    return value_of(format_of<T>(), x.bits);
}

/// Bits of the nearest number of a small format: looked up among all of them.
template <class T> std::uint32_t nearest_code(double x) {
  static constexpr auto f = format_of<T>();
  static std::vector<double> const middles = [] { // above each code
    std::vector<double> result;
    for (std::uint32_t code = 0; value_of(f, code) < f.largest; ++code)
      result.push_back((value_of(f, code) + value_of(f, code + 1)) / 2);
    return result;
  }();
  constexpr auto sign_bit = 1u << (8 * sizeof(T) - 1);
  if (std::isnan(x)) return sign_bit - 1;
  auto const sign = std::signbit(x) ? sign_bit : 0;
  auto const magnitude = std::abs(x);
  auto const last = static_cast<std::uint32_t>(middles.size());
  auto const end = f.largest + (f.largest - value_of(f, last - 1)) / 2; // half-way to what would come next
  if (sizeof(T) == 2 && magnitude >= end) return sign | (last + 1);
  auto const above = std::lower_bound(middles.begin(), middles.end(), magnitude);
  auto code = static_cast<std::uint32_t>(above - middles.begin());
  if (above != middles.end() && *above == magnitude) code += code & 1;
  return sign | code;
}

/// The nearest integer, the even one of two, in the range of the type.
template <class T> T nearest_of_integers(double x) {
  if (std::isnan(x)) return 0;
  if (x <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (x >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  auto const below = std::floor(x), over = x - below;
  auto const odd = std::fmod(below, 2.0) != 0;
  return static_cast<T>(over > 0.5 || (over == 0.5 && odd) ? below + 1 : below);
}

/// All ones but for the sign.
template <class T> constexpr auto plain_nan_bits = std::numeric_limits<std::make_signed_t<raw<T>>>::max();

/// What the rules say, bit for bit.
template <class To, class From> To expected(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (std::is_same_v<To, float> && std::is_same_v<From, bf16>)
    return std::bit_cast<float>(std::uint32_t{x.bits} << 16);
  else if constexpr (std::is_integral_v<To>)
    return nearest_of_integers<To>(exact(x));
  else if constexpr (std::is_floating_point_v<To>)
    return std::isnan(exact(x)) ? std::bit_cast<To>(plain_nan_bits<To>) : static_cast<To>(exact(x));
  else
    return To::from_bits(static_cast<decltype(To::bits)>(nearest_code<To>(exact(x))));
}

/// Converts numbers in fragments of N slots.
template <class To, int N, class From> std::vector<To> in_fragments(std::vector<From> const& numbers) {
  constexpr auto owned = local<axis::columns>(N);
  std::vector<To> result;
  for (std::size_t i = 0; i + N <= numbers.size(); i += N) {
    fragment<From, owned> f;
    std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(i), N, f.data);
    auto const converted = convert<To>(f);
    static_assert(std::is_same_v<decltype(converted), fragment<To, owned> const>);
    result.insert(result.end(), converted.data, converted.data + N);
  }
  return result;
}

template <class To, class From> void check(std::vector<From> const& numbers) {
  std::vector<To> scalars, rules;
  for (auto const x : numbers) {
    scalars.push_back(convert_to<To>(x));
    rules.push_back(expected<To>(x));
  }
  auto const expected_bits = raw_of(rules);
  auto const compare = [&](std::vector<To> const& found, char const* how) {
    auto const found_bits = raw_of(found);
    ASSERT_EQ(found_bits.size(), expected_bits.size());
    for (std::size_t i = 0; i < found_bits.size(); ++i)
      ASSERT_EQ(found_bits[i], expected_bits[i]) << how << " of " << exact(numbers[i]) << ", number " << i;
  };
  compare(scalars, "the scalar");
  compare(in_fragments<To, 1>(numbers), "a fragment of 1");
  compare(in_fragments<To, 2>(numbers), "a fragment of 2");
  compare(in_fragments<To, 5>(numbers), "a fragment of 5");
  compare(in_fragments<To, 8>(numbers), "a fragment of 8");
}

template <class T> class conversions : public testing::Test {};
using sources =
    testing::Types<double, float, bf16, fp16, e4m3, e5m2, std::int32_t, std::uint32_t, std::int8_t, std::uint8_t>;
TYPED_TEST_SUITE(conversions, sources);

TYPED_TEST(conversions, give_the_nearest_number_in_one_rounding_at_every_length) {
  auto const numbers = numbers_to_convert<TypeParam>();
  for_each_number_type([&]<class To>(To) { check<To>(numbers); });
}

TEST(conversions_of_bool, are_0_and_1) {
  for_each_number_type([]<class To>(To) {
    EXPECT_EQ(exact(convert_to<To>(false)), 0);
    EXPECT_EQ(exact(convert_to<To>(true)), 1);
  });
}

/// 16-bit numbers and codes of 8 bits come back from fp32 as they were, but for infinities of e5m2, which saturate, and
/// NaN, which is plain.
TEST(conversions_to_fp32, and_back_change_nothing_but_NaN) {
  for_each_packed_type([]<class T>(T) {
    for (auto const x : numbers_to_convert<T>()) {
      auto const wide = convert_to<float>(x);
      auto const back = raw_of(convert_to<T>(wide));
      if (std::isnan(wide))
        ASSERT_EQ(back, plain_nan_bits<T>);
      else if (std::is_same_v<T, e5m2> && std::isinf(wide))
        ASSERT_EQ(back, wide < 0 ? 0xFB : 0x7B);
      else
        ASSERT_EQ(back, raw_of(x));
    }
  });
}

/// The values lie so that rounding to fp32 first makes ties of them, or takes them over a tie.
TEST(conversions_of_fp64, do_not_round_twice) {
  EXPECT_EQ(convert_to<bf16>(1 + 0x1p-8 + 0x1p-40).bits, 0x3F81); // fp32 alone: the tie, to 0x3F80
  EXPECT_EQ(convert_to<bf16>(1 + 3 * 0x1p-8 - 0x1p-40).bits, 0x3F81);
  EXPECT_EQ(convert_to<fp16>(1 + 0x1p-11 + 0x1p-40).bits, 0x3C01);
  EXPECT_EQ(convert_to<e4m3>(1 + 0x1p-4 + 0x1p-40).bits, 0x39);
  EXPECT_EQ(convert_to<e5m2>(1 + 0x1p-3 + 0x1p-40).bits, 0x3D);
  EXPECT_EQ(convert_to<std::int8_t>(2.5 + 0x1p-40), 3);
  EXPECT_EQ(convert_to<std::uint8_t>(3.5 - 0x1p-40), 3);
  EXPECT_EQ(convert_to<fp16>(0x1p-25 + 0x1p-70).bits, 1);
  EXPECT_EQ(convert_to<fp16>(0x1p-25).bits, 0);
  EXPECT_EQ(convert_to<bf16>(0x1p-134 + 0x1p-180).bits, 1);
  EXPECT_EQ(convert_to<bf16>(-1e300).bits, 0xFF80);
  EXPECT_EQ(convert_to<bf16>(-0x1p-1000).bits, 0x8000);
}

TEST(conversions_of_integers, do_not_round_twice) {
  EXPECT_EQ(convert_to<bf16>(std::int32_t{0x40400001}).bits, 0x4E81); // fp32 alone: the tie, to 0x4E80
  EXPECT_EQ(convert_to<bf16>(std::int32_t{-0x40400001}).bits, 0xCE81);
  EXPECT_EQ(convert_to<bf16>(std::uint32_t{0x80800001}).bits, 0x4F01);
}

/// The whole code space and the ends of e4m3, as instructions of the GPU have them.
TEST(conversions_to_e4m3, saturate_and_keep_NaN_and_signs) {
  auto const both_ways = [](auto x) {
    constexpr auto owned = local<axis::columns>(3);
    auto const f = convert<e4m3>(filled<owned>(x));
    EXPECT_EQ(f.data[0].bits, convert_to<e4m3>(x).bits);
    EXPECT_EQ(f.data[2].bits, convert_to<e4m3>(x).bits);
    return f.data[1].bits;
  };
  for (auto const big : {448.0, 464.0, 464.0001, 1000.0, HUGE_VAL}) {
    EXPECT_EQ(both_ways(big), 0x7E);
    EXPECT_EQ(both_ways(-big), 0xFE);
    EXPECT_EQ(both_ways(static_cast<float>(big)), 0x7E);
    EXPECT_EQ(both_ways(static_cast<float>(-big)), 0xFE);
    EXPECT_EQ(both_ways(convert_to<fp16>(big)), 0x7E);
    EXPECT_EQ(both_ways(convert_to<bf16>(-big)), 0xFE);
  }
  EXPECT_EQ(both_ways(std::numeric_limits<float>::quiet_NaN()), 0x7F);
  EXPECT_EQ(both_ways(-std::numeric_limits<double>::quiet_NaN()), 0x7F);
  EXPECT_EQ(both_ways(fp16::from_bits(0xFC01)), 0x7F);
  EXPECT_EQ(both_ways(-0.0f), 0x80);
  EXPECT_EQ(both_ways(-0.0), 0x80);
  EXPECT_EQ(both_ways(bf16(-0.0f)), 0x80);
}

TEST(conversions_of_e4m3, have_all_codes_in_every_wider_type) {
  for (unsigned code = 0; code < 256; ++code) {
    auto const x = e4m3::from_bits(static_cast<std::uint8_t>(code));
    auto const value = value_of(format_of<e4m3>(), code);
    auto const in_bf16 = convert_to<bf16>(x);
    auto const in_fp16 = convert_to<fp16>(x);
    auto const in_fp32 = convert_to<float>(x);
    if (code % 128 == 127) {
      EXPECT_EQ(in_bf16.bits, 0x7FFF);
      EXPECT_EQ(in_fp16.bits, 0x7FFF);
      EXPECT_EQ(raw_of(in_fp32), 0x7FFFFFFFu);
    } else {
      EXPECT_EQ(exact(in_bf16), value);
      EXPECT_EQ(exact(in_fp16), value);
      EXPECT_EQ(in_fp32, value);
      EXPECT_EQ(std::signbit(in_fp32), code >= 128);
    }
  }
  EXPECT_EQ(convert_to<float>(e4m3::from_bits(0x01)), 0x1p-9f);
  EXPECT_EQ(convert_to<float>(e4m3::from_bits(0x7E)), 448.0f);
}

/// A group of four and what is left of it follow one rule.
TEST(conversions_to_int8, saturate_at_every_length) {
  std::vector<std::int32_t> const from{200, -200, 127, -128, 1000};
  std::vector<std::int8_t> const to{127, -128, 127, -128, 127};
  auto const check_length = [&]<int N>(std::integral_constant<int, N>) {
    for (int first = 0; first + N <= 5; ++first) {
      std::vector<std::int32_t> const part(from.begin() + first, from.begin() + first + N);
      EXPECT_EQ((in_fragments<std::int8_t, N>(part)),
                (std::vector<std::int8_t>(to.begin() + first, to.begin() + first + N)));
    }
  };
  check_length(std::integral_constant<int, 1>{});
  check_length(std::integral_constant<int, 2>{});
  check_length(std::integral_constant<int, 3>{});
  check_length(std::integral_constant<int, 4>{});
  check_length(std::integral_constant<int, 5>{});
}

} // namespace
} // namespace mk::test
