// mk-bench-cuda: the cuda device in figures.

#include <megakernels/ops/error.hpp>

#include "cuda/benchmarks.hpp"
#include "cuda/gpu_facts.hpp"
#include "kit/suite.hpp"
#include "models/llama/options.hpp"

#include <cstdio>
#include <optional>
#include <string_view>

namespace mk::bench {

namespace {

/// Takes `--model FILE` out of the arguments: the file that it names, or "smollm2".
std::string take_model(int& argc, char** argv) {
  std::string model = "smollm2";
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    std::string_view const argument = argv[i];
    if (argument == "--model" && i + 1 < argc)
      model = argv[++i];
    else if (argument.starts_with("--model="))
      model = argument.substr(8);
    else
      argv[kept++] = argv[i];
  }
  argc = kept;
  return model;
}

std::optional<std::string> find_model(std::string const& model) {
  try {
    auto const path = llama::model_path(model);
    if (std::filesystem::is_regular_file(path)) return path.string();
    std::fprintf(stderr, "decode/smollm2-135m is skipped: there is no file '%s'\n", path.c_str());
  } catch (error const& e) {
    std::fprintf(stderr, "decode/smollm2-135m is skipped: %s\n", e.what());
  }
  return std::nullopt;
}

/// What a run found, in short.
class table {
public:
  /// The same benchmark, noted here when it has run.
  benchmark noted(benchmark of) {
    return {.name = of.name, .run = [this, of] { return rows_.emplace_back(of.name, of.run()).second; }};
  }

  void print() const {
    if (rows_.empty()) return;
    std::printf("\n%-36s %10s %-6s %10s %14s\n", "", "median", "", "limit", "own_graph_pdl");
    for (auto const& [name, f] : rows_) {
      std::printf("%-36s %10.4g %-6s", name.c_str(), f.measured.median, f.unit.c_str());
      if (f.limit)
        std::printf(" %10.4g", *f.limit);
      else
        std::printf(" %10s", "");
      for (auto const& [baseline, value] : f.baselines) std::printf(" %14.4g", value);
      std::puts("");
    }
  }

private:
  std::vector<std::pair<std::string, figure>> rows_;
};

} // namespace
} // namespace mk::bench

int main(int argc, char** argv) {
  using namespace mk::bench;
  auto const model = find_model(take_model(argc, argv));
  std::vector<benchmark> all{
      {"runtime/stream", stream},
      {"runtime/stream/resident", stream_resident},
      {"runtime/doorbell/round_trip", doorbell},
      {"runtime/task/empty", task_empty},
      {"runtime/submit_to_done/empty", [] { return submit_to_done(true); }},
      {"runtime/submit_to_done/empty/w1", [] { return submit_to_done(false); }},
      {"runtime/edge/counter/idle", [] { return counter_edge(false); }},
      {"runtime/edge/counter/streaming", [] { return counter_edge(true); }},
      {"runtime/join", join},
  };
  if (model) all.push_back({"decode/smollm2-135m/b1/ctx160/bf16", [&] { return decode_smollm2(*model); }});
  all.push_back({"decode/llama-3.2-1b/b1/ctx160/bf16", decode_llama});
  table found;
  for (auto& b : all) b = found.noted(b);
  auto const code = run_suite(argc, argv,
                              "Measures the cuda device. --model FILE: the GGUF file of SmolLM2-135M; without it the "
                              "one in the cache, if any.",
                              gpu_name(), all);
  found.print();
  return code;
}
