#include "models/llama/options.hpp"

#include <megakernels/ops/error.hpp>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

namespace mk::llama {

void add_model_option(CLI::App& app, options& o) {
  app.add_option("--model", o.model, "a GGUF file of the Llama family, or smollm2")->capture_default_str();
}

void add_worker_options(CLI::App& app, options& o) {
  app.add_option("--workers", o.workers, "workers of the program; 0: one for each core")
      ->check(CLI::Range(std::int64_t(0), std::int64_t(4096)))
      ->capture_default_str();
  app.add_option("--context", o.context, "most positions of prompt and answer; at most what the model knows")
      ->check(CLI::Range(std::int64_t(1), std::int64_t(1) << 24))
      ->capture_default_str();
}

void add_prompt_options(CLI::App& app, options& o) {
  app.add_option("--device", o.device, "host, emulator or cuda")->capture_default_str();
  app.add_option("prompt", o.prompt, "the text to answer");
  app.add_option("--prompt-file", o.prompt_file, "read the text from a file; - is standard input");
  app.add_flag("--raw", o.raw, "continue the text itself, without the model's chat template");
  app.add_option("--max-tokens", o.max_tokens, "end the answer after so many tokens")
      ->check(CLI::Range(std::int64_t(0), std::int64_t(1) << 30))
      ->capture_default_str();
  app.add_option("--temperature", o.how.temperature, "0: always the most likely token")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--top-k", o.how.top_k, "draw among the k most likely tokens; 0: off")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--top-p", o.how.top_p, "draw among the fewest tokens of this mass; 1: off")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--seed", o.how.seed, "of the draws: the same seed gives the same answer")->capture_default_str();
}

std::filesystem::path model_path(std::string const& model) {
  if (model != "smollm2") return model;
  auto const* const cache = std::getenv("XDG_CACHE_HOME");
  auto const* const home = std::getenv("HOME");
  std::filesystem::path folder = cache != nullptr && *cache != '\0'
                                     ? std::filesystem::path(cache)
                                     : std::filesystem::path(home ? home : "") / ".cache";
  auto const path = folder / "megakernels" / "SmolLM2-135M-Instruct.Q4_1.gguf";
  if (!std::filesystem::exists(path))
    throw error("model smollm2: " + path.string() + " does not exist; `./mk generate` fetches it");
  return path;
}

device_choice device_of(std::string const& name) {
  if (name == "host") return host_device{};
  throw device_error("device '" + name + "': this build has only the device 'host'");
}

std::string prompt_of(options const& o) {
  if (o.prompt_file.empty()) {
    if (o.prompt.empty()) throw error("no prompt: give a text, or --prompt-file");
    return o.prompt;
  }
  if (!o.prompt.empty()) throw error("both a prompt and --prompt-file are given");
  auto const read = [](std::istream& in) { return std::string(std::istreambuf_iterator<char>(in), {}); };
  if (o.prompt_file == "-") return read(std::cin);
  std::ifstream file(o.prompt_file, std::ios::binary);
  if (!file) throw file_error("prompt file '" + o.prompt_file + "' cannot be read");
  auto text = read(file);
  if (text.empty()) throw file_error("prompt file '" + o.prompt_file + "' is empty");
  return text;
}

} // namespace mk::llama
