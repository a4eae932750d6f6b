// The smallest whole program: a gated layer with a norm, compiled for two workers and run on the host.

#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

namespace {

std::shared_ptr<mk::tensor const> matrix(std::int64_t rows, std::int64_t columns, float element) {
  mk::tensor m(mk::data_type::bf16, {rows, columns});
  std::ranges::fill(m.span<tylo::bf16>(), tylo::bf16(element));
  return std::make_shared<mk::tensor>(std::move(m));
}

// [graph]
mk::program make_program() {
  mk::graph g("gated layer");
  auto const rows = g.live("rows", 64); // each submission says how many, up to 64
  mk::axis const width("width", 96), inner("inner", 256);
  auto const x = g.input("x", mk::data_type::fp32, {rows, width});
  auto const gate = g.constant("gate", mk::data_type::bf16, {inner, width});
  auto const up = g.constant("up", mk::data_type::bf16, {inner, width});
  auto const down = g.constant("down", mk::data_type::bf16, {width, inner});
  auto const h = mk::build::rms_norm(g, "norm", x, {}, {.epsilon = 1e-6f});
  auto const u = mk::build::linear(g, "gate_up", h, gate, {.up = up}); // silu(h gate^T) * (h up^T)
  g.output("y", mk::build::linear(g, "down", u, down, {.residual = x}));
  return mk::compile(g, {.workers = 2}, mk::full_operations);
}

void run(mk::program program, mk::tensor const& x, mk::tensor& y) {
  mk::session session(mk::host_device{}, mk::full_operations);
  auto const layer = session.load(std::move(program));
  session.set_constant("gate", matrix(256, 96, 1.0f / 128));
  session.set_constant("up", matrix(256, 96, 1.0f / 64));
  session.set_constant("down", matrix(96, 256, 1.0f / 256));
  session.submit(layer, mk::step().live("rows", x.extent(0)).bind("x", x.view()).bind("y", y.view())).wait();
}
// [/graph]

} // namespace

int main() {
  mk::tensor x(mk::data_type::fp32, {3, 96}), y(mk::data_type::fp32, {3, 96});
  std::ranges::fill(x.span<float>(), 2.0f);
  run(make_program(), x, y);

  // The norm makes every element 1; the two products are then 0.75 and 1.5.
  float const expected = 2 + 0.75f / (1 + std::exp(-0.75f)) * 1.5f;
  float const found = y.span<float>()[0];
  std::printf("y[0, 0] = %g\n", static_cast<double>(found));
  bool const right = std::ranges::all_of(y.span<float>(), [&](float v) { return std::abs(v - expected) < 1e-4f; });
  return right ? 0 : 1;
}
