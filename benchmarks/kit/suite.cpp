#include "kit/suite.hpp"

#include <megakernels/ops/error.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <thread>

namespace mk::bench {
namespace {

void print(std::string const& name, figure const& f) {
  std::printf("%-36s %10.4g %-8s (%.4g to %.4g, %zu runs)", name.c_str(), f.measured.median, f.unit.c_str(),
              f.measured.p10, f.measured.p90, f.measured.runs);
  if (f.limit) std::printf(", limit %.4g", *f.limit);
  for (auto const& [baseline, value] : f.baselines) std::printf(", %s %.4g", baseline.c_str(), value);
  std::printf("\n    %s\n", f.verdict.c_str());
  std::fflush(stdout);
}

void append(std::filesystem::path file, std::string const& device, std::string const& line) {
  if (std::filesystem::is_directory(file)) file /= results_file(device);
  std::ofstream to(file, std::ios::app);
  to << line << '\n';
  to.close();
  if (!to) throw error("results cannot be written to '" + file.string() + "'");
}

/// What others took for the same, by name of the benchmark; a file of none where there is no name.
std::map<std::string, std::map<std::string, double>> read_baselines(std::string const& path) {
  if (path.empty()) return {};
  std::ifstream from(path);
  if (!from) throw error("baselines cannot be read from '" + path + "'");
  return nlohmann::json::parse(from).get<std::map<std::string, std::map<std::string, double>>>();
}

/// Figures of a machine that has other work are not worth much.
void warn_if_busy() {
  double load = 0;
  auto const cores = std::max(1u, std::thread::hardware_concurrency());
  if (getloadavg(&load, 1) == 1 && load > 0.5 * cores)
    std::fprintf(stderr, "warning: the machine is busy (load %.1f, %u cores): figures will be too low\n", load, cores);
}

} // namespace

void expect(bool ok, std::string const& what) {
  if (!ok) throw error(what);
}

int run_suite(int argc, char** argv, std::string const& about, std::string const& device,
              std::vector<benchmark> const& benchmarks) {
  std::string json, filter, baselines;
  bool list = false;
  CLI::App app(about);
  app.add_option("--json", json, "append results to this file, or to the device's file in this folder");
  app.add_option("--filter", filter, "run only benchmarks whose name contains this");
  app.add_option("--baselines", baselines,
                 "add others' figures of the same run: {\"benchmark\": {\"name\": number, ...}, ...}");
  app.add_flag("--list", list, "list the benchmarks");
  CLI11_PARSE(app, argc, argv);

  bool failed = false;
  auto const others = read_baselines(baselines);
  auto const from = origin_on(device);
  if (!list) {
    warn_if_busy();
    std::printf("%s, commit %s\n", device.c_str(), from.commit.c_str());
    std::fflush(stdout);
  }
  for (auto const& [name, run] : benchmarks) {
    if (name.find(filter) == std::string::npos) continue;
    if (list) {
      std::puts(name.c_str());
      continue;
    }
    try {
      auto result = run();
      if (auto const of = others.find(name); of != others.end())
        result.baselines.insert(of->second.begin(), of->second.end());
      print(name, result);
      if (!json.empty()) append(json, device, to_json_line(name, result, from));
    } catch (std::exception const& e) {
      std::fprintf(stderr, "%s: error: %s\n", name.c_str(), e.what());
      failed = true;
    }
  }
  return failed ? 1 : 0;
}

} // namespace mk::bench
