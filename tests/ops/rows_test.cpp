#include <megakernels/ops/reference/convert.hpp>
#include <megakernels/ops/reference/rows.hpp>

#include "kit.hpp"

#include <limits>

namespace mk::reference {
namespace {

constexpr machine levels[] = {machine::baseline, machine::avx2, machine::avx512};

/// The levels that this machine can run.
std::vector<machine> runnable() {
  std::vector<machine> result;
  for (auto m : levels)
    if (m <= this_machine()) result.push_back(m);
  return result;
}

template <class T> class rows : public testing::Test {};
using types = testing::Types<tylo::bf16, tylo::fp16, tylo::e4m3, tylo::e5m2>;
TYPED_TEST_SUITE(rows, types);

TYPED_TEST(rows, every_code_is_widened_as_numbers_say_at_every_level) {
  using T = TypeParam;
  std::size_t const codes = std::size_t(1) << (8 * sizeof(T));
  std::vector<T> all(codes);
  for (std::size_t i = 0; i < codes; ++i) all[i] = T::from_bits(static_cast<decltype(T::bits)>(i));
  for (auto m : runnable())
    for (auto count : {codes, codes - 1, codes - 13, std::size_t(5), std::size_t(0)}) {
      std::vector<float> found(codes + 1, -7.0f);
      widen_row(tylo::data_type_of<T>, reinterpret_cast<std::byte const*>(all.data()), static_cast<std::int64_t>(count),
                found.data(), m);
      for (std::size_t i = 0; i < count; ++i) {
        auto const right = static_cast<float>(all[i]);
        ASSERT_TRUE(std::isnan(right) ? std::isnan(found[i])
                                      : std::bit_cast<std::uint32_t>(found[i]) == std::bit_cast<std::uint32_t>(right))
            << i << " at level " << static_cast<int>(m);
      }
      EXPECT_EQ(found[count], -7.0f);
    }
}

TYPED_TEST(rows, numbers_are_narrowed_as_numbers_say_at_every_level) {
  using T = TypeParam;
  std::vector<float> inputs;
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += 40503)
    inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (std::uint32_t code = 0; code < (1u << (8 * sizeof(T))); code += sizeof(T) == 1 ? 1 : 7) {
    auto const exact =
        std::bit_cast<std::uint32_t>(static_cast<float>(T::from_bits(static_cast<decltype(T::bits)>(code))));
    for (std::uint32_t away : {0u, 1u, 0xFFFu, 0x1000u, 0x1001u, 0x7FFFu, 0x8000u, 0x8001u, 0x80000u, 0x100000u})
      inputs.push_back(std::bit_cast<float>(exact + away));
  }
  std::vector<T> found(inputs.size());
  for (auto m : runnable()) {
    narrow_row(tylo::data_type_of<T>, inputs.data(), static_cast<std::int64_t>(inputs.size()),
               reinterpret_cast<std::byte*>(found.data()), m);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      ASSERT_EQ(found[i].bits, T(inputs[i]).bits) << inputs[i] << " at level " << static_cast<int>(m);
  }
}

/// A double a hair over the middle between two elements rounds up, though fp32 would first make it the middle itself.
TYPED_TEST(rows, doubles_are_rounded_once) {
  using T = TypeParam;
  std::uint32_t const last = sizeof(T) == 1 ? 0x60u : 0x5000u;
  for (std::uint32_t code = 1; code < last; code += sizeof(T) == 1 ? 1 : 97) {
    auto const at = [](std::uint32_t c) {
      return static_cast<double>(static_cast<float>(T::from_bits(static_cast<decltype(T::bits)>(c))));
    };
    double const middle = (at(code) + at(code + 1)) / 2;
    double const numbers[] = {middle * (1 + 0x1p-40), middle * (1 - 0x1p-40), middle, -middle * (1 + 0x1p-40)};
    T found[4];
    store_row<double>(tylo::data_type_of<T>, reinterpret_cast<std::byte*>(found), 1, numbers);
    EXPECT_EQ(found[0].bits, code + 1);
    EXPECT_EQ(found[1].bits, code);
    EXPECT_EQ(found[2].bits, code + (code & 1));
    EXPECT_EQ(static_cast<float>(found[3]), -at(code + 1));
  }
}

TEST(rows, integers_saturate_at_every_length) {
  double const numbers[] = {200, -200, 127, -128, 1000};
  int const right[] = {127, -128, 127, -128, 127};
  for (std::size_t length = 1; length <= 5; ++length) {
    std::int8_t found[6] = {9, 9, 9, 9, 9, 9};
    store_row<double>(data_type::int8, reinterpret_cast<std::byte*>(found), 1, std::span(numbers).first(length));
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(found[i], i < length ? right[i] : 9);
    float const narrow[] = {200, -200, 127, -128, 1000};
    store_row<float>(data_type::int8, reinterpret_cast<std::byte*>(found), 1, std::span(narrow).first(length));
    for (std::size_t i = 0; i < length; ++i) EXPECT_EQ(found[i], right[i]);
  }
  std::int32_t wide[4];
  double const large[] = {3e9, -3e9, NAN, 2.5};
  store_row<double>(data_type::int32, reinterpret_cast<std::byte*>(wide), 1, large);
  EXPECT_EQ(wide[0], std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(wide[1], std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(wide[2], 0);
  EXPECT_EQ(wide[3], 2);
  std::int8_t one;
  double const over_a_half[] = {0.5 + 0x1p-40};
  store_row<double>(data_type::int8, reinterpret_cast<std::byte*>(&one), 1, over_a_half);
  EXPECT_EQ(one, 1);
}

TEST(rows, strides_and_types_in_both_directions) {
  for (int t = 0; t < 7; ++t)
    for (std::int64_t stride : {1, 2, 7})
      for (std::int64_t count : {0, 1, 3, 16, 300}) {
        auto const type = static_cast<data_type>(t);
        auto const memory = kit::blank(type, {count * stride + 1});
        std::vector<double> numbers(static_cast<std::size_t>(count)), back(numbers.size());
        std::vector<float> small(numbers.size());
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i % 9) - 4;
        store_row<double>(type, memory.data(), stride, numbers);
        load_row<double>(type, memory.data(), stride, back);
        load_row<float>(type, memory.data(), stride, small);
        EXPECT_EQ(back, numbers);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          EXPECT_EQ(static_cast<double>(small[i]), numbers[i]);
          for (std::int64_t between = 1; between < stride; ++between) {
            auto const* at = memory.data() + (static_cast<std::int64_t>(i) * stride + between) * bytes_of(type);
            EXPECT_EQ(*at, std::byte{0xFF});
          }
        }
        EXPECT_TRUE(memory.storage->guards_intact());
      }
}

TEST(rows, scratch_starts_at_a_cache_line_and_grows) {
  for (std::int64_t count : {1, 100, 3, 5000}) {
    auto const memory = scratch<float, 77>(count);
    EXPECT_EQ(memory.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 64, 0u);
  }
}

TEST(rows, partial_sums_are_joined_in_one_order) {
  for (std::int64_t count : {0, 1, 31, 32, 33, 100, 1000}) {
    kit::random r(7);
    std::vector<float> terms;
    for (std::int64_t i = 0; i < count; ++i) terms.push_back(static_cast<float>(r.uniform()));
    float partial[32] = {};
    for (std::size_t i = 0; i < terms.size(); ++i) partial[i % 32] += terms[i];
    for (std::size_t half = 16; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) partial[i] += partial[i + half];
    EXPECT_EQ(sum<float>(count, [&](std::int64_t i) { return terms[static_cast<std::size_t>(i)]; }), partial[0]);
  }
}

} // namespace
} // namespace mk::reference
