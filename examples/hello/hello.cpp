// The smallest whole program: a gated layer with a norm, compiled for two workers and run on the host.

#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include <algorithm>
#include <cstdio>

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

float run(mk::program program) {
  mk::session session(mk::host_device{}, mk::full_operations);
  auto const layer = session.load(std::move(program));
  for (auto const* name : {"gate", "up"})
    session.set_constant(
        name, std::make_shared<mk::tensor>(mk::data_type::bf16, std::initializer_list<std::int64_t>{256, 96}));
  session.set_constant("down",
                       std::make_shared<mk::tensor>(mk::data_type::bf16, std::initializer_list<std::int64_t>{96, 256}));
  mk::tensor x(mk::data_type::fp32, {3, 96}), y(mk::data_type::fp32, {3, 96});
  std::ranges::fill(x.span<float>(), 1.5f);
  session.submit(layer, mk::step().live("rows", 3).bind("x", x.view()).bind("y", y.view())).wait();
  return y.span<float>()[0]; // the weights are zero, so y is x
}
// [/graph]

int main() {
  float const y = run(make_program());
  std::printf("y[0, 0] = %g\n", static_cast<double>(y));
  return y == 1.5f ? 0 : 1;
}
