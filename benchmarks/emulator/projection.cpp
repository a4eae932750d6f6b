#include <megakernels/kernels/small.hpp>
#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include "emulator/benchmarks.hpp"
#include "kit/suite.hpp"
#include "kit/timing.hpp"

#include <algorithm>
#include <memory>

namespace mk::bench {
namespace {

constexpr std::int64_t width = 1024, workers = 4;

program make_projection() {
  graph g("projection");
  axis const in("in", width);
  auto const x = g.input("x", data_type::fp32, {{"rows", 1}, in});
  g.output("y", build::linear(g, "project", x, g.constant("weight", data_type::bf16, {{"out", width}, in})));
  return compile(g, {.workers = workers}, small_operations);
}

/// Whole numbers: their sums are exact in fp32.
template <class T> void fill(tensor& t, unsigned factor) {
  unsigned i = 0;
  for (auto& element : t.span<T>()) element = T(static_cast<float>(i++ * factor % 7) - 3);
}

} // namespace

figure multiply_adds(bool races) {
  auto const weight = std::make_shared<tensor>(data_type::bf16, std::initializer_list<std::int64_t>{width, width});
  tensor x(data_type::fp32, {1, width}), y(data_type::fp32, {1, width}), expected(data_type::fp32, {1, width});
  fill<tylo::bf16>(*weight, 5);
  fill<float>(x, 3);
  auto const start = [&](session& s) {
    s.set_constant("weight", weight);
    return s.load(make_projection());
  };
  auto const run = [&](session& s, program_id p, tensor& to) {
    s.submit(p, step().bind("x", x.view()).bind("y", to.view())).wait();
  };

  session host(host_device{}, small_operations);
  run(host, start(host), expected);
  emulator_device gpu{.kernel = &kernels::small(), .workers = workers};
  gpu.how.batched = true;
  gpu.how.races = races;
  session emulated(gpu, small_operations);
  auto const p = start(emulated);
  auto const seconds = time_runs(5, [&] {
    run(emulated, p, y);
    expect(std::ranges::equal(y.span<float>(), expected.span<float>()),
           "emulator/multiply_adds: a result is not the host's");
  });
  return {.unit = "1/s",
          .measured = summarize(rates(static_cast<double>(width * width), seconds)),
          .verdict = "the bits of the host in every run"};
}

} // namespace mk::bench
