/// Sizes beyond 2^31 elements and bytes are exact, or refused.

#include <megakernels/scheduler/compile.hpp>

#include "kit.hpp"
#include "toy_operations.hpp"

namespace mk {
namespace {

struct shape {
  std::int64_t rows;
  std::int64_t columns;
};

TEST(sizes, products_over_two_to_the_31) {
  for (auto const [rows, columns] : {shape{46341, 46341}, shape{65536, 32769}, shape{1, std::int64_t(1) << 33}}) {
    auto const bytes = static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns) * 4;
    graph g("g");
    auto const x = g.input("x", data_type::fp32, {{"rows", rows}, {"columns", columns}});
    auto const a = g.add<toy::map>("a", {}, {x})[0];
    auto const last = g.window(g.window(a, 0, rows - 1, 1), 1, columns - 1, 1);
    g.output("y", g.add<toy::mix>("b", {}, {last})[0]);
    for (std::int64_t workers : {1, 132}) {
      auto const p = compile(g, {.workers = workers}, toy::list::table);
      EXPECT_EQ(p.buffers[1].bytes, bytes);
      EXPECT_EQ(p.buffers[0].bytes, (bytes + 255) / 256 * 256);
      EXPECT_EQ(p.tensors[static_cast<std::size_t>(last.index())].offset, bytes - 4);
      std::int64_t covered = 0;
      for (auto const& r : p.records) {
        if (r.node != 0) continue;
        auto const t = task_of(p.nodes[0], {.rows = {.capacity = rows}, .columns = columns}, r);
        covered += (t.row_end - t.row_begin) * (t.column_end - t.column_begin);
      }
      EXPECT_EQ(covered, rows * columns);
    }
  }
}

TEST(sizes, spans) {
  EXPECT_EQ(span_bytes(dense(data_type::bf16, extent{.capacity = 46341}, extent{.capacity = 46341})),
            std::uint64_t(2) * 46341 * 46341);
  EXPECT_EQ(span_bytes(dense(data_type::fp32, extent{.capacity = 0}, extent{.capacity = 1 << 30})), 0u);
  auto wide = dense(data_type::fp32, extent{.capacity = 3});
  wide.strides[0] = (std::int64_t(1) << 59) - 1;
  EXPECT_EQ(span_bytes(wide), (std::uint64_t(1) << 62) - 4);
  for (std::int64_t stride : {std::int64_t(1) << 59, std::int64_t(1) << 61, INT64_MAX}) { // 2^64 + 4 bytes is not 4
    wide.strides[0] = stride;
    EXPECT_EQ(kit::text_of<program_error>([&] { span_bytes(wide); }), "tensor of more than 2^62 bytes, from axis 0");
  }
}

/// More intermediates than fit 2^63 bytes.
TEST(sizes, workspaces_are_refused_where_they_overflow) {
  graph g("g");
  auto const x = g.input("x", data_type::fp32, {{"rows", std::int64_t(1) << 28}, {"columns", std::int64_t(1) << 28}});
  std::vector<value> all{x};
  for (int i = 0; i < 40; ++i) all.push_back(g.add<toy::mix>("n" + std::to_string(i), {}, {x})[0]);
  auto const text = kit::text_of<error>([&] { compile(g, {}, toy::list::table); });
  EXPECT_NE(text.find("workspace"), std::string::npos) << text;
}

} // namespace
} // namespace mk
