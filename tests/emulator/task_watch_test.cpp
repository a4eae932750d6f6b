/// What a task may touch, against the addresses of all elements that its regions name.

#include <megakernels/runtime/emulated/internal/task_watch.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace mk::test {
namespace {

std::mt19937 numbers(5);
std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(numbers()) % n; }

/// The regions that the operation below names.
std::vector<region> wanted;

operation const any_operation{
    .name = "any",
    .revision = 1,
    .arguments_bytes = 0,
    .slots = {},
    .infer = nullptr,
    .work = nullptr,
    .regions = [](void const*, std::span<tensor_desc const>, task const&, region_list& r) { r.regions = wanted; },
    .cost_of = nullptr,
    .run = nullptr,
    .oracle = nullptr,
    .check = nullptr};

constexpr std::array slots{input("x"), output("y")};

/// Axes in any order of strides, with gaps between their runs.
tensor_view any_view(std::byte* data) {
  constexpr std::array types{data_type::fp32, data_type::bf16, data_type::int8};
  tensor_view t{
      .data = data, .type = types[static_cast<std::size_t>(below(3))], .rank = 1 + static_cast<int>(below(4))};
  std::vector<std::size_t> order(static_cast<std::size_t>(t.rank));
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), numbers);
  std::int64_t stride = 1 + (below(4) == 0 ? below(3) : 0);
  for (auto const axis : order) {
    t.extents[axis] = 1 + below(5);
    t.strides[axis] = stride;
    stride = stride * t.extents[axis] + (below(2) == 0 ? below(4) : 0);
  }
  return t;
}

box any_box(tensor_view const& t) {
  box b;
  for (std::size_t i = 0; i < max_rank; ++i) {
    auto const extent = static_cast<int>(i) < t.rank ? t.extents[i] : 1;
    b.begin[i] = below(3) == 0 ? below(extent) : 0;
    b.end[i] = below(3) == 0 ? b.begin[i] + 1 + below(extent - b.begin[i]) : extent;
  }
  return b;
}

/// Adds the bytes of all elements in a box.
void add_bytes(std::set<std::byte const*>& bytes, tensor_view const& t, box const& b) {
  std::array<std::int64_t, max_rank> i{};
  for (i[0] = b.begin[0]; i[0] < b.end[0]; ++i[0])
    for (i[1] = b.begin[1]; i[1] < b.end[1]; ++i[1])
      for (i[2] = b.begin[2]; i[2] < b.end[2]; ++i[2])
        for (i[3] = b.begin[3]; i[3] < b.end[3]; ++i[3])
          for (std::int64_t k = 0; k < bytes_of(t.type); ++k) bytes.insert(t.at(i[0], i[1], i[2], i[3]) + k);
}

TEST(task_watch, includes_the_bytes_that_regions_name) {
  std::vector<std::byte> memory(1 << 14);
  auto op = any_operation;
  op.slots = slots;
  std::size_t included = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    device::decoded_task t{};
    t.operands[0] = any_view(memory.data() + 64);
    t.operands[1] = any_view(memory.data() + memory.size() / 2);
    wanted.clear();
    for (int o = 0; o < 2; ++o) wanted.push_back({.operand = o, .write = o == 1, .where = any_box(t.operands[o])});
    emulated::task_accesses const accesses(op, t);
    for (bool const write : {false, true}) {
      std::set<std::byte const*> bytes;
      add_bytes(bytes, t.operands[write ? 1 : 0], wanted[write ? 1 : 0].where);
      auto const* const around = t.operands[write ? 1 : 0].data;
      for (int probe = 0; probe < 20; ++probe) {
        constexpr std::array<std::size_t, 6> sizes{1, 2, 4, 8, 16, 48};
        auto const* const at = around + below(300) - 20;
        auto const size = sizes[static_cast<std::size_t>(below(6))];
        bool all = true;
        for (std::size_t k = 0; k < size; ++k) all = all && bytes.contains(at + k);
        ASSERT_EQ(accesses.include(at, size, write), all)
            << "round " << round << ", byte " << at - around << ", " << size;
        ++(all ? included : refused);
      }
    }
  }
  EXPECT_GT(included, 20000u);
  EXPECT_GT(refused, 20000u);
}

TEST(task_watch, says_what_the_regions_have) {
  std::vector<float> memory(100);
  auto* const start = reinterpret_cast<std::byte*>(memory.data());
  auto op = any_operation;
  op.slots = slots;
  device::decoded_task t{};
  t.operands[0] = {.data = start, .type = data_type::fp32, .rank = 2, .extents = {4, 5}, .strides = {8, 1}};
  wanted = {{.operand = 0, .write = false, .where = {{1, 0, 0, 0}, {2, 5, 1, 1}}}};
  emulated::task_accesses const accesses(op, t);
  EXPECT_TRUE(accesses.include(start + 8 * 4, 20, false));
  EXPECT_EQ(accesses.why_not(start + 17 * 4, 4, false),
            "in operand 'x', element [2, 1]; of it the regions of 'any' say that this task reads [1 to 2, 0 to 5]");
  EXPECT_EQ(accesses.why_not(start + 9 * 4, 4, true),
            "in operand 'x', element [1, 1]; of it the regions of 'any' say that this task writes nothing");
  EXPECT_EQ(accesses.why_not(start + 6 * 4, 4, false), "in operand 'x', between its elements");
  EXPECT_EQ(accesses.why_not(start + 80 * 4, 4, false), "it is in no operand of the task");
}

} // namespace
} // namespace mk::test
