#include "kit/figure.hpp"

#include <nlohmann/json.hpp>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <thread>

namespace mk::bench {
namespace {

/// What a command prints, without the end of the line; nothing where it fails.
std::string output_of(std::string const& command) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  if (pipe)
    for (int c; (c = std::fgetc(pipe.get())) != EOF;) text += static_cast<char>(c);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string commit() {
  std::string const git = "git -c safe.directory='*' -C '" MK_SOURCE_DIR "' ";
  auto const head = output_of(git + "rev-parse --short=12 HEAD 2>/dev/null");
  if (head.empty()) return "unknown";
  // Results are written by the run itself.
  return head + output_of(git + "diff --quiet HEAD -- ':!benchmarks/results' || echo -dirty");
}

std::string today() {
  auto const now = std::time(nullptr);
  std::tm date{};
  gmtime_r(&now, &date);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &date);
  return text;
}

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return std::strtod(text, nullptr);
}

} // namespace

origin origin_on(std::string device) { return {.device = std::move(device), .commit = commit(), .date = today()}; }

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string name = "unknown CPU";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) {
      name = line.substr(line.find(':') + 2);
      break;
    }
  return name + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores";
}

std::string to_json_line(std::string const& name, figure const& f, origin const& o) {
  nlohmann::ordered_json json{{"bench", name},
                              {"unit", f.unit},
                              {"median", rounded(f.measured.median)},
                              {"p10", rounded(f.measured.p10)},
                              {"p90", rounded(f.measured.p90)},
                              {"runs", f.measured.runs}};
  if (f.limit) json["limit"] = rounded(*f.limit);
  if (!f.baselines.empty())
    for (auto const& [baseline, value] : f.baselines) json["baselines"][baseline] = rounded(value);
  json["verdict"] = f.verdict;
  json["device"] = o.device;
  json["commit"] = o.commit;
  json["date"] = o.date;
  return json.dump();
}

std::string results_file(std::string const& device) {
  std::string name;
  for (unsigned char const c : device)
    if (std::isalnum(c) != 0)
      name += static_cast<char>(std::tolower(c));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  while (name.ends_with('-')) name.pop_back();
  return name + ".jsonl";
}

} // namespace mk::bench
