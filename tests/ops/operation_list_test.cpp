#include <megakernels/ops/all.hpp>

#include <gtest/gtest.h>

#include <set>

namespace mk {
namespace {

struct first {
  static constexpr std::string_view name = "first";
  static constexpr std::uint32_t revision = 1;
  struct arguments {
    std::int32_t number;
  };
  static constexpr std::array slots{input("x"), output("y")};
  static std::vector<output_shape> infer(arguments const&, shape_query const&) { return {}; }
  static work_shape work(arguments const&, std::span<tensor_desc const>) { return {}; }
  static void regions(arguments const&, std::span<tensor_desc const>, task const&, region_list&) {}
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const&) { return {}; }
  template <class> static void reference(arguments const&, std::span<tensor_view const>, task const&) {}
};
struct renamed : first {
  static constexpr std::string_view name = "renamed";
};
struct revised : first {
  static constexpr std::uint32_t revision = 2;
};
struct wider : first {
  struct arguments {
    std::int64_t number;
  };
  static std::vector<output_shape> infer(arguments const&, shape_query const&) { return {}; }
  static work_shape work(arguments const&, std::span<tensor_desc const>) { return {}; }
  static void regions(arguments const&, std::span<tensor_desc const>, task const&, region_list&) {}
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const&) { return {}; }
  template <class> static void reference(arguments const&, std::span<tensor_view const>, task const&) {}
};
struct other_slot_name : first {
  static constexpr std::array slots{input("z"), output("y")};
};
struct other_slot_use : first {
  static constexpr std::array slots{optional("x"), output("y")};
};

TEST(operation_list, hash_tells_apart_whatever_a_program_relies_on) {
  std::set<std::uint64_t> const hashes{
      operation_list<>::hash,
      operation_list<first>::hash,
      operation_list<renamed>::hash,
      operation_list<revised>::hash,
      operation_list<wider>::hash,
      operation_list<other_slot_name>::hash,
      operation_list<other_slot_use>::hash,
      operation_list<first, renamed>::hash,
      operation_list<renamed, first>::hash,
      operation_list<first, first>::hash,
  };
  EXPECT_EQ(hashes.size(), 10u);
  static_assert(operation_list<first>::hash == hash_of(operation_list<first>::operations));
}

TEST(operation_list, operations_are_found_by_name) {
  constexpr auto table = operation_list<first, renamed>::table;
  static_assert(table.find("renamed")->name == "renamed");
  EXPECT_EQ(table.find("renamed"), &table.operations[1]);
  EXPECT_EQ(table.find("neither"), nullptr);
}

TEST(operation_list, shipped_lists) {
  EXPECT_EQ(small_operations.operations.size(), 3u);
  EXPECT_EQ(full_operations.operations.size(), 11u);
  for (auto const& op : llama_operations.operations) EXPECT_NE(full_operations.find(op.name), nullptr) << op.name;
  for (auto const& op : small_operations.operations) EXPECT_NE(llama_operations.find(op.name), nullptr) << op.name;
  std::set<std::string_view> names;
  for (auto const& op : full_operations.operations) names.insert(op.name);
  EXPECT_EQ(names.size(), 11u);
  EXPECT_EQ(full_operations.hash, hash_of(full_operations.operations));
}

} // namespace
} // namespace mk
