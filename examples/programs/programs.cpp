// From a graph to a listing, pass by pass; then a program as bytes, and what damage comes to.

#include <megakernels/ops/all.hpp>
#include <megakernels/ops/error.hpp>
#include <megakernels/scheduler/encode.hpp>
#include <megakernels/scheduler/graph/operations.hpp>
#include <megakernels/scheduler/machine.hpp>
#include <megakernels/scheduler/order.hpp>
#include <megakernels/scheduler/program/codec.hpp>
#include <megakernels/scheduler/program/disassemble.hpp>
#include <megakernels/scheduler/program/verify.hpp>

#include <cstdio>

namespace {

void build_layer(mk::graph& g) {
  auto const rows = g.live("rows", 4);
  mk::axis const width("width", 64), inner("inner", 96);
  auto const x = g.input("x", mk::data_type::fp32, {rows, width});
  auto const up = g.constant("up", mk::data_type::bf16, {inner, width});
  auto const down = g.constant("down", mk::data_type::bf16, {width, inner});
  auto const h = mk::build::rms_norm(g, "norm", x, {});
  auto const u = mk::build::linear(g, "up", h, up, {.silu = true});
  g.output("y", mk::build::linear(g, "down", u, down, {.residual = x}));
}

// [passes]
mk::program compile(mk::graph const& g, mk::machine const& machine) {
  mk::schedule s;
  s.tiles = mk::tile(g, machine);                    // nodes into tasks
  s.depends = mk::depend(g, s.tiles);                // which task waits for which
  s.memory = mk::plan_memory(g, s.depends);          // where results lie
  s.places = mk::place(s.tiles, s.depends, machine); // which worker runs which task
  s.lists = mk::order(s.places, machine);            // and when
  return mk::encode(g, s, mk::small_operations);     // as records
}
// [/passes]

// [bytes]
mk::program from_outside(std::span<std::byte const> bytes) {
  auto program = mk::decode(bytes);          // throws program_error where the bytes are not intact
  mk::verify(program, mk::small_operations); // throws program_error where the program must not run
  return program;                            // session::load verifies once more
}
// [/bytes]

void show_refusal(std::span<std::byte const> bytes) {
  try {
    from_outside(bytes);
    std::puts("accepted");
  } catch (mk::program_error const& e) {
    std::puts(e.what());
  }
}

} // namespace

int main() {
  mk::graph g("layer");
  build_layer(g);
  // Two slow workers, so that a small layer is worth sharing.
  auto const program = compile(g, {.workers = 2, .bytes_per_second = 1e9, .operations_per_second = 1e9});
  mk::verify(program, mk::small_operations);
  std::fputs(mk::disassemble(program, mk::small_operations).c_str(), stdout);
  std::puts("");

  auto const bytes = mk::encode(program);
  show_refusal(bytes);
  auto damaged = bytes;
  damaged[damaged.size() / 2] ^= std::byte{1};
  show_refusal(damaged);
  show_refusal(std::span(bytes).first(bytes.size() / 2));

  auto without_wait = program; // whoever writes a whole new hash does not get further
  for (auto& r : without_wait.records) r.wait_count = 0;
  show_refusal(mk::encode(without_wait));
}
