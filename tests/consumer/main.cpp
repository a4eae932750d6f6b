// What a user's first program does: a graph, compiled and run on the host and, by a kernel of the user's own, on the
// emulator, with its result checked.

#include <megakernels/kernels/consumer_kernel.hpp>
#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>

namespace {

/// y = x * weight^T + x
mk::program make_program() {
  mk::graph g("consumer");
  auto const rows = g.live("rows", 8);
  mk::axis const width("width", 4);
  auto const x = g.input("x", mk::data_type::fp32, {rows, width});
  auto const weight = g.constant("weight", mk::data_type::fp32, {width, width});
  g.output("y", mk::build::linear(g, "product", x, weight, {.residual = x}));
  return mk::compile(g, {.workers = 3}, mk::small_operations);
}

bool is_right_on(mk::device_choice const& device) {
  mk::session session(device, mk::small_operations);
  auto const program = session.load(make_program());

  auto const weight = std::make_shared<mk::tensor>(mk::data_type::fp32, std::initializer_list<std::int64_t>{4, 4});
  std::ranges::fill(weight->span<float>(), 2.0f);
  session.set_constant("weight", weight);

  mk::tensor x(mk::data_type::fp32, {2, 4}), y(mk::data_type::fp32, {2, 4});
  std::iota(x.span<float>().begin(), x.span<float>().end(), 1.0f);
  session.submit(program, mk::step().live("rows", 2).bind("x", x.view()).bind("y", y.view())).wait();

  float const expected[] = {21, 22, 23, 24, 57, 58, 59, 60};
  return std::ranges::equal(y.span<float>(), expected);
}

} // namespace

int main() {
  try {
    auto const& kernel = mk::kernels::consumer_kernel();
    bool const emulates = kernel.emulated != nullptr;
    bool const right =
        is_right_on(mk::host_device{}) && (!emulates || is_right_on(mk::emulator_device{.kernel = &kernel}));
    return right ? 0 : 1;
  } catch (mk::error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
