#include <megakernels/tylo/fragment/pack.hpp>

#include "conversion_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mk::test {
namespace {

using namespace tylo;

constexpr auto eight = local<axis::columns>(8);

template <class T> fragment<T, eight> eight_of(std::vector<T> const& numbers, std::size_t first) {
  fragment<T, eight> f;
  std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(first), 8, f.data);
  return f;
}

template <class T> class packing : public testing::Test {};
using packed_types = testing::Types<bf16, fp16, e4m3, e5m2, std::int8_t, std::uint8_t>;
TYPED_TEST_SUITE(packing, packed_types);

TYPED_TEST(packing, keeps_all_bits_of_every_payload) {
  using T = TypeParam;
  auto const numbers = numbers_to_convert<T>();
  for (std::size_t i = 0; i < numbers.size(); i += 8) {
    auto const f = eight_of(numbers, i);
    auto const p = pack(f);
    static_assert(p.words == 8 * int(sizeof(T)) / 4);
    auto const back = unpack(p);
    for (int s = 0; s < 8; ++s) {
      ASSERT_EQ(raw_of(back.data[s]), raw_of(f.data[s]));
      auto const shift = 8 * int(sizeof(T)) * (s % p.per_word); // the first slot is lowest
      ASSERT_EQ(static_cast<raw<T>>(p.data[s / p.per_word] >> shift), raw_of(f.data[s]));
    }
  }
}

template <class T, class From> void check_packed_conversion() {
  auto const numbers = numbers_to_convert<From>();
  for (std::size_t i = 0; i < numbers.size(); i += 8) {
    auto const f = eight_of(numbers, i);
    auto const at_once = pack<T>(f), one_by_one = pack(convert<T>(f));
    for (int w = 0; w < at_once.words; ++w) ASSERT_EQ(at_once.data[w], one_by_one.data[w]);
    for (int s = 0; s < 8; ++s)
      ASSERT_EQ(raw_of(unpack(at_once).data[s]), raw_of(convert_to<T>(f.data[s]))) << "slot " << s << " from " << i;
  }
}

TYPED_TEST(packing, with_a_type_converts_as_convert_does) {
  for_each_number_type([]<class From>(From) { check_packed_conversion<TypeParam, From>(); });
}

template <class To, class T> void check_conversion_of_packed() {
  auto const numbers = numbers_to_convert<T>();
  for (std::size_t i = 0; i < numbers.size(); i += 8) {
    auto const p = pack(eight_of(numbers, i));
    auto const at_once = convert<To>(p), unpacked = convert<To>(unpack(p));
    for (int s = 0; s < 8; ++s) {
      ASSERT_EQ(raw_of(at_once.data[s]), raw_of(convert_to<To>(numbers[i + static_cast<unsigned>(s)])));
      ASSERT_EQ(raw_of(at_once.data[s]), raw_of(unpacked.data[s]));
    }
  }
}

TYPED_TEST(packing, is_undone_with_or_without_conversion) {
  for_each_number_type([]<class To>(To) { check_conversion_of_packed<To, TypeParam>(); });
}

TEST(packed_words, have_the_first_element_in_the_lowest_bits) {
  constexpr auto two = local<axis::columns>(2);
  auto const p = pack<fp16>(fragment<float, two>{{1.0f, -2.0f}});
  EXPECT_EQ(p.data[0], 0xC0003C00u);
  EXPECT_EQ(convert<float>(unpack(p)).data[1], -2.0f);
  constexpr auto four = local<axis::columns>(4);
  EXPECT_EQ(pack<std::int8_t>(fragment<std::int32_t, four>{{1, -1, 127, -128}}).data[0], 0x807FFF01u);
}

TEST(packed_words, are_read_as_elements) {
  auto const p = packed_from_words<e4m3, eight>(0x7E013880u, 0xFF7F0000u);
  auto const f = convert<float>(p);
  EXPECT_EQ(raw_of(f.data[0]), 0x80000000u);
  EXPECT_EQ(f.data[1], 1.0f);
  EXPECT_EQ(f.data[2], 0x1p-9f);
  EXPECT_EQ(f.data[3], 448.0f);
  EXPECT_EQ(unpack(p).data[7].bits, 0xFF);
}

} // namespace
} // namespace mk::test
