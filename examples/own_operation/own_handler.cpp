// What the emulator says of a handler without one of its barriers.

#include <megakernels/kernels/own_kernel.hpp>
#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>

#include "layer_norm.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t rows = 3, columns = 43; // not rows that fit a warp

/// Runs the operation on an emulated GPU. Returns the report of a fault, if there is one.
std::string run(mk::emulator_device const& gpu) {
  auto const& list = gpu.kernel->operations;
  mk::graph g("norm");
  mk::axis const width("width", columns);
  auto const x = g.input("x", mk::data_type::fp32, {{"rows", rows}, width});
  auto const weight = g.constant("weight", mk::data_type::fp32, {width});
  g.output("y", g.add<my::layer_norm>("norm", {}, {x, weight})[0]);

  mk::session session(gpu, list);
  auto const ones = std::make_shared<mk::tensor>(mk::data_type::fp32, std::initializer_list<std::int64_t>{columns});
  std::ranges::fill(ones->span<float>(), 1.0f);
  session.set_constant("weight", ones);
  mk::tensor from(mk::data_type::fp32, {rows, columns}), to(mk::data_type::fp32, {rows, columns});
  std::iota(from.span<float>().begin(), from.span<float>().end(), 0.0f);
  try {
    session.submit(session.load(mk::compile(g, {}, list)), mk::step().bind("x", from.view()).bind("y", to.view()))
        .wait();
  } catch (mk::device_error const& e) {
    return e.what();
  }
  return {};
}

mk::emulator_device plain() { return {.kernel = &mk::kernels::own_kernel(), .workers = 1}; }

// [barriers]
/// The barriers of the handler that the program comes to.
std::vector<tylo::emulator::used_site> barriers() {
  std::vector<tylo::emulator::used_site> result;
  auto gpu = plain();
  gpu.how.list_sites = true;
  gpu.how.on_end = [&](tylo::emulator::statistics const& all) {
    for (auto const& s : all.sites)
      if (s.kind == "barrier" && s.file.ends_with("layer_norm_handler.hpp")) result.push_back(s);
  };
  run(gpu);
  return result;
}

/// The report of the handler without one of them; empty where no schedule of five has one.
std::string report_without(tylo::emulator::used_site const& barrier) {
  auto gpu = plain();
  gpu.how.deleted_site = {{barrier.file, barrier.line}};
  gpu.stuck_after = std::chrono::milliseconds(20); // of the kernel's own time, for those that would wait for ever
  std::string report;
  for (gpu.how.seed = 0; gpu.how.seed < 5 && report.empty(); ++gpu.how.seed) report = run(gpu);
  return report;
}
// [/barriers]

/// What was found, and who saw it: the first two lines, without the callers.
void print_start_of(std::string const& report) {
  std::istringstream lines(report);
  std::string line;
  for (int i = 0; i < 2 && std::getline(lines, line); ++i)
    std::printf("%s\n", line.substr(0, line.find(" < ")).c_str());
}

} // namespace

int main() {
  bool all_found = true;
  auto const sites = barriers();
  for (auto const& barrier : sites) {
    auto const report = report_without(barrier);
    all_found = all_found && !report.empty();
    std::printf("%swithout line %d:\n", barrier.line == sites.front().line ? "" : "\n", barrier.line);
    print_start_of(report.empty() ? "NOTHING FOUND" : report);
  }
  return all_found && sites.size() == 2 ? 0 : 1;
}
