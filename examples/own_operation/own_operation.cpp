// A graph with an operation of one's own, on the host and, in builds that have it, on the emulator.

#include <megakernels/kernels/own_kernel.hpp>
#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include "layer_norm.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

namespace {

// [list]
using my_list = mk::operation_list<my::layer_norm, mk::linear>;

mk::program make_program(std::int64_t workers, std::int64_t columns, bool with_bias) {
  mk::graph g("normed projection");
  auto const rows = g.live("rows", 32);
  mk::axis const width("width", columns), out("out", 8);
  auto const x = g.input("x", mk::data_type::fp32, {rows, width});
  auto const gain = g.constant("norm.weight", mk::data_type::fp32, {width});
  auto const bias = with_bias ? g.constant("norm.bias", mk::data_type::fp32, {width}) : mk::value();
  auto const h = g.add<my::layer_norm>("norm", {.epsilon = 1e-6f}, {x, gain, bias})[0];
  g.output("y", mk::build::linear(g, "project", h, g.constant("project.weight", mk::data_type::fp32, {out, width})));
  return mk::compile(g, {.workers = workers, .task_seconds = 1e-9}, my_list::table);
}
// [/list]

/// From -1 to 1.
std::shared_ptr<mk::tensor> numbers(std::initializer_list<std::int64_t> extents, int seed) {
  auto t = std::make_shared<mk::tensor>(mk::data_type::fp32, extents);
  for (auto& value : t->span<float>()) value = static_cast<float>((seed = seed * 37 % 101)) / 50 - 1;
  return t;
}

// [layer]
/// x [rows, width], what the nodes have beside it, and what becomes of it.
struct layer {
  std::int64_t rows, width;
  bool with_bias;
  std::shared_ptr<mk::tensor> x = numbers({rows, width}, 1), weight = numbers({8, width}, 2);
  std::shared_ptr<mk::tensor> gain = numbers({width}, 3), bias = numbers({width}, 4);

  mk::tensor run(mk::device_choice const& device, std::int64_t workers) const {
    mk::tensor y(mk::data_type::fp32, {rows, 8});
    mk::session session(device, my_list::table);
    auto const program = session.load(make_program(workers, width, with_bias));
    session.set_constant("norm.weight", gain);
    session.set_constant("norm.bias", bias);
    session.set_constant("project.weight", weight);
    session.submit(program, mk::step().live("rows", rows).bind("x", x->view()).bind("y", y.view())).wait();
    return y;
  }

  double error_of(mk::tensor const& y) const;
};
// [/layer]

// [test]
/// The largest difference of y from a plain loop in double.
double layer::error_of(mk::tensor const& y) const {
  auto const number = [](auto const& t, auto... at) {
    return static_cast<double>(*reinterpret_cast<float const*>(t->view().at(at...)));
  };
  auto const count = static_cast<double>(width);
  double worst = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (std::int64_t i = 0; i < width; ++i) mean += number(x, r, i) / count;
    for (std::int64_t i = 0; i < width; ++i) variance += std::pow(number(x, r, i) - mean, 2) / count;
    for (std::int64_t c = 0; c < 8; ++c) {
      double expected = 0;
      for (std::int64_t i = 0; i < width; ++i) {
        auto const normal = (number(x, r, i) - mean) / std::sqrt(variance + 1e-6);
        auto const shift = with_bias ? number(bias, i) : 0.0;
        expected += (normal * number(gain, i) + shift) * number(weight, c, i);
      }
      worst = std::max(worst, std::abs(expected - number(&y, r, c)));
    }
  }
  return worst;
}
// [/test]

// [check]
/// What a device does with rows of two widths, all or some of them live, for one to three workers.
struct outcome {
  double worst = 0;      ///< largest difference from a plain loop
  bool same_bits = true; ///< whatever the number of workers

  void check_on(mk::device_choice const& device) {
    for (std::int64_t const width : {40, 43})
      for (std::int64_t const rows : {32, 5, 1}) {
        layer const l{.rows = rows, .width = width, .with_bias = rows < 32};
        auto const first = l.run(device, 1);
        worst = std::max(worst, l.error_of(first));
        for (std::int64_t const workers : {2, 3})
          same_bits = same_bits && std::ranges::equal(l.run(device, workers).span<float>(), first.span<float>());
      }
  }
};
// [/check]

// [device]
/// Three workers of an emulated GPU that take turns in an order of this seed.
mk::emulator_device emulated(std::uint64_t seed) {
  mk::emulator_device gpu{.kernel = &mk::kernels::own_kernel(), .workers = 3};
  gpu.how.seed = seed;
  return gpu;
}
// [/device]

} // namespace

int main() {
  outcome found;
  found.check_on(mk::host_device{});
  bool const emulates = mk::kernels::own_kernel().emulated != nullptr;
  if (!emulates) std::fputs("this build has no emulator: the host alone\n", stderr);
  for (std::uint64_t seed = 0; emulates && seed < 3; ++seed) found.check_on(emulated(seed));
  bool const small = found.worst < 1e-5;
  std::printf("largest error %s 1e-5\n", small ? "under" : "NOT under");
  std::printf("%s bits with one, two and three workers\n", found.same_bits ? "the same" : "DIFFERENT");
  return small && found.same_bits ? 0 : 1;
}
