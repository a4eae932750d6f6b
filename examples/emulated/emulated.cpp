// Kernels on the emulator: one that is right, one that lacks a barrier, and a program on an emulated GPU.

#include <megakernels/kernels/small.hpp>
#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/graph/operations.hpp>
#include <megakernels/tylo/emulator/launch.hpp>
#include <megakernels/tylo/emulator/memory.hpp>
#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/thread.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace {

// [kernel]
constexpr unsigned count = 256, threads = 64;

/// Turns round each 64 numbers of 256, by way of shared memory. The second barrier can be left away.
TYLO_FN void turn_round(float const* from, float* to, bool with_barrier) {
  auto* const shared = reinterpret_cast<float*>(tylo::shared_memory());
  auto const t = tylo::thread_rank();
  for (unsigned first = 0; first < count; first += threads) {
    shared[t] = from[first + t];
    tylo::sync_cta(); // all are there
    to[first + t] = shared[threads - 1 - t];
    if (with_barrier) tylo::sync_cta(); // all were read, and may be overwritten
  }
}
// [/kernel]

/// 0, 1, 2 and so on.
std::vector<float> numbers() {
  std::vector<float> result(count);
  std::iota(result.begin(), result.end(), 0.0f);
  return result;
}

bool is_turned_round(std::span<float const> found) {
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != static_cast<float>(i / threads * threads + threads - 1 - i % threads)) return false;
  return true;
}

bool runs() {
  auto const input = numbers();
  // [launch]
  tylo::emulator::array<float> const from(input, "from"), to(input.size(), {}, "to");
  auto const kernel = [from = from.data(), to = to.data()] { turn_round(from, to, true); };
  tylo::emulator::grid const grid{.threads = threads, .shared_bytes = threads * sizeof(float)};
  for (std::uint64_t seed = 0; seed < 20; ++seed) tylo::emulator::launch(grid, {.seed = seed}, kernel);
  // [/launch]
  bool const right = is_turned_round(to.span());
  std::printf("twenty schedules: %s\n", right ? "all right" : "WRONG");
  return right;
}

bool is_found() {
  auto const input = numbers();
  tylo::emulator::array<float> const from(input, "from"), to(input.size(), {}, "to");
  tylo::emulator::grid const grid{.threads = threads, .shared_bytes = threads * sizeof(float)};
  // [fault]
  auto const kernel = [from = from.data(), to = to.data()] { turn_round(from, to, false); };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    try {
      tylo::emulator::launch(grid, {.seed = seed}, kernel);
    } catch (tylo::emulator::fault const& found) {
      std::printf("\n%s\n", found.what());
      return true;
    }
  }
  // [/fault]
  return false;
}

/// With `deleted_site` the emulator leaves the barrier out by itself.
bool is_needed() {
  auto const input = numbers();
  tylo::emulator::array<float> const from(input, "from"), to(input.size(), {}, "to");
  tylo::emulator::grid const grid{.threads = threads, .shared_bytes = threads * sizeof(float)};
  auto const kernel = [from = from.data(), to = to.data()] { turn_round(from, to, true); };
  std::puts("");
  bool all_needed = true;
  // [sites]
  auto const found = tylo::emulator::launch(grid, {.list_sites = true}, kernel);
  for (auto const& s : found.sites) {
    bool needed = false;
    try {
      tylo::emulator::launch(grid, {.seed = 1, .deleted_site = {{s.file, s.line}}}, kernel);
    } catch (tylo::emulator::fault const&) {
      needed = true;
    }
    std::printf("%s of line %d (a %s): %s\n", s.what.c_str(), s.line, s.kind.c_str(), needed ? "needed" : "NOT NEEDED");
    all_needed = all_needed && needed;
  }
  // [/sites]
  return all_needed && found.sites.size() == 2;
}

mk::program make_program(std::int64_t workers) {
  mk::graph g("projection");
  auto const rows = g.live("rows", 4);
  mk::axis const width("width", 64), out("out", 96);
  auto const x = g.input("x", mk::data_type::fp32, {rows, width});
  auto const h = mk::build::rms_norm(g, "norm", x, {});
  g.output("y", mk::build::linear(g, "project", h, g.constant("weight", mk::data_type::bf16, {out, width})));
  return mk::compile(g, {.workers = workers, .task_seconds = 1e-9}, mk::small_operations);
}

std::shared_ptr<mk::tensor> make_weight() {
  auto weight = std::make_shared<mk::tensor>(mk::data_type::bf16, std::initializer_list<std::int64_t>{96, 64});
  auto const all = weight->span<tylo::bf16>();
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = tylo::bf16(static_cast<float>(i * 7 % 11) / 8 - 0.5f);
  return weight;
}

bool runs_programs() {
  mk::tensor x(mk::data_type::fp32, {3, 64}), y(mk::data_type::fp32, {3, 96}), expected(mk::data_type::fp32, {3, 96});
  for (std::size_t i = 0; i < 192; ++i) x.span<float>()[i] = static_cast<float>(i * 5 % 13) - 6;
  auto const weight = make_weight();
  // [device]
  mk::emulator_device gpu{.kernel = &mk::kernels::small(), .workers = 3};
  gpu.how = {.seed = 5, .batched = true};
  mk::session session(gpu, mk::small_operations);
  // [/device]
  auto const run = [&](mk::session& s, mk::tensor& to) {
    s.set_constant("weight", weight);
    s.submit(s.load(make_program(3)), mk::step().live("rows", 3).bind("x", x.view()).bind("y", to.view())).wait();
  };
  run(session, y);
  mk::session host(mk::host_device{}, mk::small_operations);
  run(host, expected);
  auto const close = [](float a, float b) { return std::abs(a - b) <= 1e-4f; };
  bool const right = std::ranges::equal(y.span<float>(), expected.span<float>(), close);
  std::printf("\nthe program on three emulated workers: %s\n", right ? "as on the host" : "DIFFERENT");
  return right;
}

} // namespace

int main() { return runs() && is_found() && is_needed() && runs_programs() ? 0 : 1; }
