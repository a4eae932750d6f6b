/// `softmax` and `rms_norm` on the GPU, beside the host.

#include <megakernels/kernels/full.hpp>

#include "../runtime/row_cases.hpp"
#include "kit.hpp"

#include <string>
#include <vector>

namespace mk::test {
namespace {

constexpr std::int64_t widths[] = {8,    24,   1000, 1001,  1024,  1032,  2000,  3000,
                                   4096, 4104, 8192, 16384, 16392, 32768, 32776, 65536};

class cuda_rows : public gpu_test {
protected:
  ~cuda_rows() override { statistics.print(); }

  static row_runner on_gpu(std::int64_t runs = 1) {
    return [runs](row_graph& of, std::int64_t workers) {
      session s(cuda_device{.kernel = &kernels::full()}, full_operations);
      return run(s, of, workers, [](tensor_view const&, std::vector<std::byte> const&) {}, runs);
    };
  }

  void check(row_graph& of) { check_rows(of, workers(), on_gpu(), statistics); }

  static std::vector<std::int64_t> workers() { return {1, 3, multiprocessors()}; }

  node_statistics statistics;
};

TEST_F(cuda_rows, every_pair_of_types) {
  for (auto const width : widths) {
    SCOPED_TRACE("width " + std::to_string(width));
    row_graph g({.width = width, .rows = 7});
    add_every_pair(g, width);
    check(g);
  }
}

TEST_F(cuda_rows, one_row_and_many_in_a_task) {
  for (auto const width : widths)
    for (std::int64_t const rows : {1, 2, 40}) {
      SCOPED_TRACE(std::to_string(rows) + " rows of width " + std::to_string(width));
      row_graph g({.width = width, .rows = rows});
      add_common_pairs(g, width);
      check(g);
    }
}

TEST_F(cuda_rows, few_of_the_rows_are_live) {
  for (std::int64_t const width : {1000, 1001, 4096, 8192, 32768})
    for (std::int64_t const live : {0, 1, 3, 25, 80}) {
      SCOPED_TRACE(std::to_string(live) + " rows of width " + std::to_string(width));
      row_graph g({.width = width, .rows = 80, .live = live});
      add_common_pairs(g, width);
      check(g);
    }
}

TEST_F(cuda_rows, that_are_not_dense) {
  for (auto const layout : {row_layout::padded, row_layout::odd_pitch, row_layout::odd_offset, row_layout::even_offset,
                            row_layout::every_second})
    for (std::int64_t const width : {24, 1000, 1001, 4096, 16384}) {
      SCOPED_TRACE("layout " + std::to_string(static_cast<int>(layout)) + ", width " + std::to_string(width));
      row_graph g({.width = width, .rows = 17, .layout = layout});
      add_common_pairs(g, width);
      g.rms_norm(g.x(data_type::bf16), data_type::bf16, g.weight(data_type::bf16, width, true));
      check(g);
    }
}

TEST_F(cuda_rows, without_an_ordinary_answer_and_their_neighbours) {
  for (std::int64_t const width : {8, 24, 1000, 1001, 4096, 4104, 16384, 32768})
    for (auto const type : row_types) {
      SCOPED_TRACE(std::string(name_of(type)) + ", width " + std::to_string(width));
      row_graph g({.width = width, .rows = row_numbers::kinds, .contents = row_contents::unusual});
      add_scales(g, width, type, type, all_scales);
      add_scales(g, width, type, data_type::fp32, all_scales);
      check(g);
    }
}

TEST_F(cuda_rows, made_and_used_in_the_same_step) {
  for (auto const type : {data_type::fp32, data_type::bf16, data_type::fp16})
    for (std::int64_t const width : {264, 1032, 4096, 8200})
      check_chain({.width = width, .rows = 150, .live = 141}, type, 136, workers(), on_gpu(3), statistics);
}

TEST_F(cuda_rows, take_turns_with_weights_in_the_ring) {
  for (auto const width : widths) {
    if (width < 24) continue;
    SCOPED_TRACE("width " + std::to_string(width));
    row_graph g({.width = width, .rows = 130});
    add_products_between(g, data_type::bf16, width);
    check_rows(g, workers(), on_gpu(3), statistics);
  }
}

} // namespace
} // namespace mk::test
