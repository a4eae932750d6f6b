/// `softmax` and `rms_norm` on an emulated GPU, under race detection, beside the host.

#include <megakernels/kernels/full.hpp>

#include "../runtime/row_cases.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

namespace mk::test {
namespace {

tylo::emulator::options schedule(std::uint64_t seed, bool races = true) {
  return {.seed = seed, .races = races, .batched = true};
}

row_runner emulated(tylo::emulator::options const& how, std::int64_t runs = 1) {
  return [how, runs](row_graph& of, std::int64_t workers) {
    emulator_device d{.kernel = &kernels::full(), .workers = static_cast<std::uint32_t>(workers)};
    d.how = how;
    session s(d, full_operations);
    return run(s, of, workers, [](tensor_view const&, std::vector<std::byte> const&) {}, runs);
  };
}

class emulator_rows : public testing::Test {
protected:
  ~emulator_rows() override { statistics.print(); }

  void check(row_graph& of, std::initializer_list<std::int64_t> workers, tylo::emulator::options const& how) {
    check_rows(of, workers, emulated(how), statistics);
  }

  node_statistics statistics;
};

TEST_F(emulator_rows, every_pair_of_types) {
  for (std::int64_t const width : {8, 24, 1000, 1001, 1024, 1032, 4096, 4104, 8192, 16384}) {
    SCOPED_TRACE("width " + std::to_string(width));
    row_graph g({.width = width, .rows = width < 4000 ? 7 : 2});
    add_every_pair(g, width);
    check(g, {1}, schedule(1, width < 4000));
  }
}

TEST_F(emulator_rows, one_row_and_many_in_a_task) {
  for (std::int64_t const width : {8, 24, 1000, 1001, 1024, 1032, 2000, 3000, 4096, 4104, 8192, 16384})
    for (std::int64_t const rows : {1, 2, 40}) {
      if (rows * width > 200000) continue;
      SCOPED_TRACE(std::to_string(rows) + " rows of width " + std::to_string(width));
      row_graph g({.width = width, .rows = rows});
      add_common_pairs(g, width);
      check(g, {1, 3}, schedule(static_cast<std::uint64_t>(rows), width * rows < 50000));
    }
}

TEST_F(emulator_rows, few_of_the_rows_are_live) {
  for (std::int64_t const width : {1000, 1001, 4096})
    for (std::int64_t const live : {0, 1, 3, 25}) {
      SCOPED_TRACE(std::to_string(live) + " rows of width " + std::to_string(width));
      row_graph g({.width = width, .rows = 80, .live = live});
      add_common_pairs(g, width);
      check(g, {1, 3}, schedule(static_cast<std::uint64_t>(live), width <= 1001));
    }
}

TEST_F(emulator_rows, that_are_not_dense) {
  for (auto const layout : {row_layout::padded, row_layout::odd_pitch, row_layout::odd_offset, row_layout::even_offset,
                            row_layout::every_second})
    for (std::int64_t const width : {24, 1000, 1001}) {
      SCOPED_TRACE("layout " + std::to_string(static_cast<int>(layout)) + ", width " + std::to_string(width));
      row_graph g({.width = width, .rows = 17, .layout = layout});
      add_common_pairs(g, width);
      g.rms_norm(g.x(data_type::bf16), data_type::bf16, g.weight(data_type::bf16, width, true));
      check(g, {1}, schedule(2));
    }
}

TEST_F(emulator_rows, without_an_ordinary_answer_and_their_neighbours) {
  for (std::int64_t const width : {24, 1000, 1001})
    for (auto const type : row_types) {
      SCOPED_TRACE(std::string(name_of(type)) + ", width " + std::to_string(width));
      row_graph g({.width = width, .rows = row_numbers::kinds, .contents = row_contents::unusual});
      add_scales(g, width, type, type, all_scales);
      add_scales(g, width, type, data_type::fp32, all_scales);
      check(g, {1}, schedule(3));
    }
}

TEST_F(emulator_rows, without_an_ordinary_answer_by_several_warps) {
  for (std::int64_t const width : {4104, 16384})
    for (auto const type : {data_type::fp32, data_type::bf16}) {
      SCOPED_TRACE(std::string(name_of(type)) + ", width " + std::to_string(width));
      row_graph g({.width = width, .rows = row_numbers::kinds, .contents = row_contents::unusual});
      add_scales(g, width, type, data_type::fp32, std::span(all_scales).first(2));
      check(g, {1}, schedule(3, false));
    }
}

TEST_F(emulator_rows, made_and_used_in_the_same_step) {
  std::int64_t const workers[] = {1, 2, 3};
  check_chain({.width = 264, .rows = 20}, data_type::bf16, 40, workers, emulated(schedule(4)), statistics);
  check_chain({.width = 264, .rows = 5}, data_type::fp32, 40, workers, emulated(schedule(5)), statistics);
  check_chain({.width = 1032, .rows = 18}, data_type::fp16, 8, std::span(workers).first(1), emulated(schedule(6), 2),
              statistics);
  check_chain({.width = 4096, .rows = 26}, data_type::bf16, 8, std::span(workers).first(1),
              emulated(schedule(7, false)), statistics);
}

TEST_F(emulator_rows, take_turns_with_weights_in_the_ring) {
  for (auto const& [width, rows] : {std::pair{72, 110}, {3000, 34}, {4104, 10}}) {
    SCOPED_TRACE(std::to_string(rows) + " rows of width " + std::to_string(width));
    row_graph g({.width = width, .rows = rows});
    add_products_between(g, data_type::bf16, width);
    check_rows(g, std::array<std::int64_t, 1>{1}, emulated(schedule(8), 2), statistics);
  }
}

TEST_F(emulator_rows, have_the_same_bits_whatever_the_schedule) {
  row_shape const shape{.width = 264, .rows = 20, .live = 17};
  row_graph g(shape);
  add_chain(g, data_type::bf16, shape.width, 24);
  auto const known = emulated(schedule(0))(g, 2);
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    EXPECT_TRUE(emulated(schedule(seed))(g, 1 + static_cast<std::int64_t>(seed % 3)) == known) << "seed " << seed;
  EXPECT_TRUE(emulated({.seed = 9, .batched = false})(g, 2) == known) << "instruction by instruction";
}

} // namespace
} // namespace mk::test
