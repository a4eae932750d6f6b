#include <megakernels/tylo/numbers.hpp>

#include "formats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tylo {
namespace {

using mk::test::format;
using mk::test::format_of;
using mk::test::value_of;

template <class T> class numbers : public testing::Test {
protected:
  static constexpr format f = format_of<T>();
  static constexpr std::uint32_t codes = 1u << (8 * sizeof(T));

  static T from(std::uint32_t code) { return T::from_bits(static_cast<decltype(T::bits)>(code)); }
  static std::uint32_t encoded(double value) { return T(static_cast<float>(value)).bits; }
};

using types = testing::Types<bf16, fp16, e4m3, e5m2>;
TYPED_TEST_SUITE(numbers, types);

TYPED_TEST(numbers, every_code_decodes_by_the_standard_and_encodes_back) {
  for (std::uint32_t code = 0; code < this->codes; ++code) {
    double const expected = value_of(this->f, code);
    auto const found = static_cast<float>(this->from(code));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(found)) << code;
      auto const back = TypeParam(found);
      EXPECT_TRUE(std::isnan(static_cast<float>(back))) << code;
      EXPECT_EQ(std::signbit(static_cast<float>(back)), std::signbit(found)) << code;
      continue;
    }
    EXPECT_EQ(found, expected) << code;
    EXPECT_EQ(std::signbit(found), std::signbit(expected)) << code;
    if (std::isinf(expected) && sizeof(TypeParam) == 1) continue; // saturates
    EXPECT_EQ(this->encoded(expected), code);
  }
}

TYPED_TEST(numbers, between_two_codes_the_nearer_wins_and_the_even_one_at_the_middle) {
  std::uint32_t const sign = this->codes / 2;
  for (std::uint32_t code = 0; value_of(this->f, code) < this->f.largest; ++code) {
    double const low = value_of(this->f, code), high = value_of(this->f, code + 1);
    auto const middle = static_cast<float>((low + high) / 2); // exact: one more bit than the format has
    ASSERT_EQ(middle, (low + high) / 2);
    float const below = std::nextafter(middle, 0.0f), above = std::nextafter(middle, INFINITY);
    std::uint32_t const even = code + (code & 1);
    EXPECT_EQ(this->encoded(middle), even) << code;
    EXPECT_EQ(this->encoded(below), below > low ? code : this->encoded(low)) << code;
    EXPECT_EQ(this->encoded(above), code + 1) << code;
    EXPECT_EQ(this->encoded(-middle), even | sign) << code;
    EXPECT_EQ(this->encoded(-above), (code + 1) | sign) << code;
  }
}

TYPED_TEST(numbers, overflow_is_infinity_for_16_bits_and_the_largest_number_for_8) {
  bool const saturates = sizeof(TypeParam) == 1;
  double const above = saturates ? this->f.largest : std::numeric_limits<double>::infinity();
  double const step = this->f.largest - value_of(this->f, this->encoded(this->f.largest) - 1);
  auto const found = [&](double value) { return static_cast<float>(this->from(this->encoded(value))); };
  EXPECT_EQ(found(std::nextafter(static_cast<float>(this->f.largest + step / 2), 0.0f)), this->f.largest);
  EXPECT_EQ(found(this->f.largest + step / 2), above);
  EXPECT_EQ(found(3.4028235e38), above);
  EXPECT_EQ(found(INFINITY), above);
  EXPECT_EQ(found(-INFINITY), -above);
  EXPECT_TRUE(std::isnan(found(NAN)));
}

TYPED_TEST(numbers, small_numbers_round_to_the_first_subnormal_or_zero) {
  double const smallest = value_of(this->f, 1);
  EXPECT_EQ(this->encoded(smallest), 1u);
  EXPECT_EQ(this->encoded(smallest / 2), 0u); // a tie: to the even code
  EXPECT_EQ(this->encoded(std::nextafter(static_cast<float>(smallest / 2), 1.0f)), 1u);
  EXPECT_EQ(this->encoded(std::numeric_limits<float>::denorm_min()), 0u);
  EXPECT_EQ(this->encoded(-0.0), this->codes / 2);
}

TEST(numbers_of_8_bits, values_at_the_end_of_e4m3) {
  EXPECT_EQ(e4m3(448.0f).bits, 0x7E);
  EXPECT_EQ(e4m3(464.0f).bits, 0x7E);
  EXPECT_EQ(e4m3(464.0001f).bits, 0x7E);
  EXPECT_EQ(e4m3(1000.0f).bits, 0x7E);
  EXPECT_EQ(e4m3(INFINITY).bits, 0x7E);
  EXPECT_EQ(e4m3(-INFINITY).bits, 0xFE);
  EXPECT_EQ(e4m3(NAN).bits & 0x7F, 0x7F);
  EXPECT_EQ(e4m3(-0.0f).bits, 0x80);
  EXPECT_EQ(static_cast<float>(e4m3::from_bits(0x01)), 0x1p-9f);
  EXPECT_TRUE(std::isnan(static_cast<float>(e4m3::from_bits(0xFF))));
}

/// Codes of 8 bits are the same number through fp32, and in bf16 and fp16, which hold all of them.
TEST(numbers_of_8_bits, every_code_is_exact_in_16_bits) {
  for (int code = 0; code < 256; ++code) {
    auto const check = [&](float value) {
      if (std::isnan(value)) return;
      EXPECT_EQ(static_cast<float>(bf16(value)), value);
      EXPECT_EQ(static_cast<float>(fp16(value)), value);
    };
    check(static_cast<float>(e4m3::from_bits(static_cast<std::uint8_t>(code))));
    check(static_cast<float>(e5m2::from_bits(static_cast<std::uint8_t>(code))));
  }
}

TEST(int8, from_fp32_is_nearest_even_and_saturates) {
  for (int i = -130; i <= 130; ++i) {
    int const expected = i < -128 ? -128 : i > 127 ? 127 : i;
    EXPECT_EQ(to_int8(static_cast<float>(i)), expected);
    auto const middle = static_cast<float>(i) + 0.5f;
    auto const rounded = static_cast<int>(std::nearbyint(middle)); // the default mode: ties to even
    EXPECT_EQ(to_int8(middle), rounded < -128 ? -128 : rounded > 127 ? 127 : rounded) << middle;
    EXPECT_EQ(to_int8(std::nextafter(middle, -1000.0f)), expected) << middle;
  }
  EXPECT_EQ(to_int8(NAN), 0);
  EXPECT_EQ(to_int8(INFINITY), 127);
  EXPECT_EQ(to_int8(-3e38f), -128);
}

TEST(int8, from_int32_saturates) {
  EXPECT_EQ(to_int8(std::int32_t{200}), 127);
  EXPECT_EQ(to_int8(std::int32_t{-200}), -128);
  EXPECT_EQ(to_int8(std::int32_t{127}), 127);
  EXPECT_EQ(to_int8(std::int32_t{-128}), -128);
  EXPECT_EQ(to_int8(std::numeric_limits<std::int32_t>::min()), -128);
}

TEST(data_types, conversions_are_constant_expressions) {
  static_assert(static_cast<float>(bf16(1.0f)) == 1.0f);
  static_assert(e4m3(1000.0f).bits == 0x7E);
  static_assert(fp16(65520.0f).bits == 0x7C00);
  static_assert(to_int8(2.5f) == 2);
}

TEST(data_types, a_type_and_its_number_belong_together) {
  for (int i = 0; i < 7; ++i) {
    auto const type = static_cast<data_type>(i);
    EXPECT_TRUE(is_known(type));
    with_type(type, [&]<class T>(T) {
      EXPECT_EQ(data_type_of<T>, type);
      EXPECT_EQ(static_cast<std::int64_t>(sizeof(T)), bytes_of(type));
      EXPECT_EQ(!std::is_integral_v<T>, is_floating(type));
    });
  }
  EXPECT_FALSE(is_known(static_cast<data_type>(7)));
  EXPECT_FALSE(is_known(static_cast<data_type>(-1)));
  EXPECT_EQ(name_of(static_cast<data_type>(99)), "unknown");
}

} // namespace
} // namespace tylo
