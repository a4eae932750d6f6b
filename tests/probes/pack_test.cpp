/// Conversion and packing of fragments on a GPU, against the scalar rule on the host, bit for bit.

#include "../cuda/kit.hpp"
#include "gpu_array.hpp"
#include "pack.hpp"

namespace mk::test {
namespace {

class packing : public gpu_test {};

template <class T> constexpr unsigned number_of_type() {
  unsigned number = 0;
  bool found = false;
  for_each_number_type([&]<class U>(U) {
    found = found || std::is_same_v<T, U>;
    if (!found) ++number;
  });
  return number;
}

template <class T> void expect_equal(gpu_array<T> const& there, std::vector<T> const& expected, char const* what) {
  auto const found = there.fetch();
  auto const at = first_difference(found, expected);
  if (at == expected.size()) return;
  ADD_FAILURE() << what << ": element " << at << " is " << std::hex << std::uint64_t{found[at]} << " for "
                << std::uint64_t{expected[at]};
}

/// Runs a kernel that makes words or elements `To` of `From`; both of its results are as expected.
template <class To, class From, class Start>
void check(std::vector<From> const& from, std::vector<To> const& expected, std::size_t count, Start const& start,
           bool both = true) {
  gpu_array<From> const there(from);
  gpu_array<To> const to(expected.size()), other(expected.size());
  conversion_arguments const g{there.data(), to.data(), other.data(), static_cast<unsigned>(count)};
  ASSERT_EQ(start(g), cudaSuccess);
  expect_equal(to, expected, "at once");
  if (both) expect_equal(other, expected, "in two steps");
}

TEST_F(packing, converts_as_the_scalar_rule_says) {
  for_each_number_type([]<class From>(From) {
    auto const numbers = numbers_to_convert<From>();
    for_each_number_type([&]<class To>(To) {
      SCOPED_TRACE(testing::Message() << "type " << number_of_type<From>() << " to " << number_of_type<To>());
      auto const start = [](conversion_arguments const& g) {
        return start_convert_array(number_of_type<To>(), number_of_type<From>(), g);
      };
      check(raw_of(numbers), converted_bits<To>(numbers), numbers.size(), start, false);
    });
  });
}

TEST_F(packing, converts_into_words_as_the_scalar_rule_says) {
  for_each_number_type([]<class From>(From) {
    auto const numbers = numbers_to_convert<From>();
    for_each_packed_type([&]<class To>(To) {
      SCOPED_TRACE(testing::Message() << "type " << number_of_type<From>() << " to " << number_of_type<To>());
      auto const start = [](conversion_arguments const& g) {
        return start_pack_array(number_of_type<To>(), number_of_type<From>(), g);
      };
      check(raw_of(numbers), words_of(converted_bits<To>(numbers)), numbers.size(), start);
    });
  });
}

TEST_F(packing, converts_words_as_the_scalar_rule_says) {
  for_each_packed_type([]<class From>(From) {
    auto const numbers = numbers_to_convert<From>();
    for_each_number_type([&]<class To>(To) {
      SCOPED_TRACE(testing::Message() << "type " << number_of_type<From>() << " to " << number_of_type<To>());
      auto const start = [](conversion_arguments const& g) {
        return start_unpack_array(number_of_type<To>(), number_of_type<From>(), g);
      };
      check(words_of(raw_of(numbers)), converted_bits<To>(numbers), numbers.size(), start);
    });
  });
}

TEST_F(packing, saturates_in_groups_and_in_what_is_left_of_them) {
  std::vector<std::int32_t> const numbers{200, -200, 127, -128, 1000};
  std::vector<std::int8_t> const expected{127, -128, 127, -128, 127};
  for (unsigned slots = 1; slots <= 5; ++slots) {
    std::vector<std::int32_t> const from(numbers.begin(), numbers.begin() + slots);
    gpu_array<std::int32_t> const there(from);
    gpu_array<std::int8_t> const to(slots);
    ASSERT_EQ(start_short_arrays(slots, {there.data(), to.data(), nullptr, slots}), cudaSuccess);
    EXPECT_EQ(to.fetch(), std::vector<std::int8_t>(expected.begin(), expected.begin() + slots));
  }
}

TEST_F(packing, quantizes_a_row_of_zeros_to_zeros_with_a_finite_scale) {
  auto const tile = tile_to_quantize();
  auto const expected = quantized_by_loops(tile);
  gpu_array<float> const from(tile), scales(quantized_rows);
  gpu_array<std::uint32_t> const words(expected.words.size());
  ASSERT_EQ(start_quantize({from.data(), words.data(), scales.data()}), cudaSuccess);
  EXPECT_EQ(words.fetch(), expected.words);
  EXPECT_EQ(scales.fetch(), expected.scales);
}

} // namespace
} // namespace mk::test
