/// The instance of forty operations runs: each of them against its reference. Built only when asked for.

#include <megakernels/kernels/forty.hpp>

#include "../cuda/kit.hpp"
#include "variants.hpp"

#include <utility>

namespace mk::test {
namespace {

constexpr int variants = 40;
constexpr std::int64_t tiles = 5;

using forty = gpu_test;

std::string output_of(int v) { return "y" + std::to_string(v); }

program make(std::int64_t workers) {
  graph g("forty");
  axis const depth("tiles", tiles), k("k", probes::variant_depth);
  auto const a = g.constant("a", data_type::bf16, {depth, {"rows", probes::variant_rows}, k});
  auto const b = g.constant("b", data_type::bf16, {depth, {"columns", probes::variant_columns}, k});
  [&]<int... V>(std::integer_sequence<int, V...>) {
    (g.output(output_of(V), g.add<probes::variant<V>>("node" + std::to_string(V),
                                                      {.factor = static_cast<float>(V % 3 + 1)}, {a, b})[0]),
     ...);
  }(std::make_integer_sequence<int, variants>{});
  return compile(g, {.workers = workers, .task_seconds = 1e-9}, kernels::forty().operations);
}

std::vector<std::byte> run(session& s, std::int64_t workers) {
  s.set_constant("a", whole_numbers(data_type::bf16, {tiles, probes::variant_rows, probes::variant_depth}, 1));
  s.set_constant("b", whole_numbers(data_type::bf16, {tiles, probes::variant_columns, probes::variant_depth}, 2));
  auto const p = s.load(make(workers));
  tensor y(data_type::fp32, {variants, probes::variant_rows, probes::variant_columns});
  mk::step bound;
  for (int v = 0; v < variants; ++v) {
    auto view = y.view();
    view = {.data = view.at(v),
            .type = view.type,
            .rank = 2,
            .extents = {view.extent(1), view.extent(2)},
            .strides = {view.stride(1), view.stride(2)}};
    bound.bind(output_of(v), view);
  }
  s.submit(p, bound).wait();
  return bytes_of(y);
}

TEST_F(forty, equal_their_references_bit_for_bit_with_any_number_of_workers) {
  auto const& kernel = kernels::forty();
  ASSERT_EQ(kernel.operations.operations.size(), std::size_t(variants));
  session host(host_device{}, kernel.operations);
  auto const expected = run(host, 2);
  for (std::int64_t workers : {1u, 3u, multiprocessors()}) {
    session s(cuda_device{.kernel = &kernel, .mode = run_mode::launch}, kernel.operations);
    EXPECT_EQ(run(s, workers), expected) << workers << " workers";
  }
}

} // namespace
} // namespace mk::test
