/// Tensors: memory, shapes, types, and who owns what.

#include <megakernels/runtime/tensor.hpp>

#include "kit.hpp"

namespace mk {
namespace {

using namespace kit;

TEST(tensor, starts_as_aligned_zeros) {
  for (std::int64_t rows : {1, 3, 1000}) {
    tensor const t(data_type::bf16, {rows, 7});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data()) % 64, 0u);
    EXPECT_EQ(t.size(), rows * 7);
    EXPECT_EQ(t.size_bytes(), static_cast<std::uint64_t>(rows) * 14);
    for (auto e : t.span<tylo::bf16>()) ASSERT_EQ(e.bits, 0);
  }
}

TEST(tensor, has_dense_strides) {
  tensor const t(data_type::int32, {2, 3, 5, 7});
  auto const view = t.view();
  EXPECT_EQ(view.rank, 4);
  EXPECT_EQ(view.strides, (std::array<std::int64_t, 4>{105, 35, 7, 1}));
  EXPECT_EQ(view.at(1, 2, 4, 6), t.data() + 4 * 209);
}

TEST(tensor, may_be_empty) {
  tensor const t(data_type::fp32, {0, 1 << 30});
  EXPECT_EQ(t.size(), 0);
  EXPECT_TRUE(t.span<float>().empty());
  tensor const none;
  EXPECT_FALSE(none.view().present());
  EXPECT_EQ(none.size(), 0);
}

TEST(tensor, refuses_shapes_that_are_none) {
  EXPECT_TRUE(has(error_of<error>([] { tensor(data_type::fp32, {3, -1}); }), "axis 1 is -1"));
  EXPECT_TRUE(has(error_of<error>([] { tensor(data_type::fp32, {1, 1, 1, 1, 1}); }), "5 axes, at most 4"));
  EXPECT_TRUE(has(error_of<error>([] { tensor(static_cast<data_type>(99), {1}); }), "99"));
  auto const huge = std::int64_t(1) << 40;
  EXPECT_TRUE(has(error_of<error>([&] { tensor(data_type::fp32, {huge, huge, huge}); }), "2^62"));
}

TEST(tensor, refuses_another_element_type) {
  tensor t(data_type::bf16, {2});
  auto const text = error_of<error>([&] { std::ignore = t.span<float>(); });
  EXPECT_TRUE(has(text, "bf16") && has(text, "fp32")) << text;
}

TEST(tensor, moves) {
  tensor a(data_type::fp32, {2});
  a.span<float>()[1] = 5;
  auto const view = a.view();
  tensor b(std::move(a));
  EXPECT_EQ(b.span<float>()[1], 5);
  EXPECT_EQ(b.data(), view.data);
  b = tensor(data_type::int8, {4});
  EXPECT_EQ(b.type(), data_type::int8);
}

TEST(tensor, over_memory_of_others_keeps_it_and_is_read_only) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4, 5, 6});
  std::weak_ptr<std::vector<float>> const watch = owner;
  auto const bytes = std::as_bytes(std::span(*owner));
  std::array<std::int64_t, 2> const shape{2, 3};
  {
    auto t = tensor::over(std::move(owner), bytes, data_type::fp32, shape);
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(std::as_const(t).span<float>()[5], 6);
    EXPECT_TRUE(has(error_of<error>([&] { std::ignore = t.span<float>(); }), "read-only"));
  }
  EXPECT_TRUE(watch.expired());
}

TEST(tensor, over_memory_of_others_checks_size_and_alignment) {
  alignas(8) static std::byte const memory[32]{};
  std::array<std::int64_t, 1> const shape{4};
  auto const over = [&](std::size_t offset, std::size_t bytes) {
    std::ignore = tensor::over(nullptr, std::span(memory).subspan(offset, bytes), data_type::fp32, shape);
  };
  over(4, 16);
  EXPECT_TRUE(has(error_of<error>([&] { over(0, 20); }), "20 bytes for a tensor of 16"));
  EXPECT_TRUE(has(error_of<error>([&] { over(2, 16); }), "not aligned"));
}

} // namespace
} // namespace mk
