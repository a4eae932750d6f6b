#include "models/llama/options.hpp"

#include <megakernels/ops/error.hpp>

#include "models/llama/kernel.hpp"
#include "models/text/utf8.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>

namespace mk::llama {
namespace {

/// Refuses what is not a number from `least` to `most` ("nan" is none), or `words`.
template <class Number> CLI::Validator number(Number least, Number most, std::string const& words) {
  return {[=](std::string& text) -> std::string {
            Number value{};
            auto const* const end = text.data() + text.size();
            auto const [rest, failure] = std::from_chars(text.data(), end, value);
            bool const legal = failure == std::errc() && rest == end && value >= least && value <= most;
            return legal ? "" : "'" + text + "' is not " + words;
          },
          ""};
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return number(least, most, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

std::string read_all(std::istream& in) { return std::string(std::istreambuf_iterator<char>(in), {}); }

std::string read_prompt_file(std::string const& path) {
  if (path == "-") return read_all(std::cin);
  if (std::filesystem::is_directory(path)) throw file_error("prompt file '" + path + "' is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw file_error("prompt file '" + path + "' cannot be read");
  return read_all(file);
}

void expect_text(std::string const& bytes, std::string const& source) {
  if (bytes.empty()) throw error(source + " is empty");
  auto const end = std::min(valid_utf8_prefix(bytes), bytes.find('\0'));
  if (end != bytes.size())
    throw error(source + " is not text: byte " + std::to_string(end) +
                (bytes[end] == '\0' ? " is zero" : " is not UTF-8"));
}

} // namespace

void add_model_option(CLI::App& app, options& o) {
  app.add_option("--model", o.model, "a GGUF file of the Llama family, or smollm2")->capture_default_str();
}

void add_worker_options(CLI::App& app, options& o) {
  app.add_option("--workers", o.workers,
                 "workers of the program; 0: one for each core or multiprocessor, 2 on the emulator")
      ->check(whole_number(0, most_host_workers))
      ->capture_default_str();
  app.add_option("--context", o.context, "most tokens of prompt and answer; at most what the model knows")
      ->check(whole_number(1, 1 << 24))
      ->capture_default_str();
}

void add_prompt_options(CLI::App& app, options& o) {
  app.add_option("--device", o.device, "where to run: host, emulator or cuda, as far as the build has them")
      ->capture_default_str();
  app.add_option("prompt", o.prompt, "the text to answer");
  app.add_option("--prompt-file", o.prompt_file, "read the text from a file; - is standard input");
  app.add_flag("--raw", o.raw, "continue the text itself, without the model's chat template");
  app.add_option("--max-tokens", o.max_tokens, "end the answer after so many tokens")
      ->check(whole_number(0, 1 << 30))
      ->capture_default_str();
  app.add_option("--temperature", o.how.temperature, "0: always the most likely token")
      ->check(number(0.0f, std::numeric_limits<float>::max(), "a number of 0 or more"))
      ->capture_default_str();
  app.add_option("--top-k", o.how.top_k, "draw among the k most likely tokens; 0: off")
      ->check(whole_number(0, std::numeric_limits<std::int32_t>::max()))
      ->capture_default_str();
  app.add_option("--top-p", o.how.top_p, "draw among the fewest tokens of this mass; 1: off")
      ->check(number(0.0f, 1.0f, "a number from 0 to 1"))
      ->capture_default_str();
  app.add_option("--seed", o.how.seed, "of the draws: the same seed gives the same answer")
      ->check(whole_number(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()))
      ->capture_default_str();
}

std::optional<int> parse(CLI::App& app, int argc, char const* const* argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (CLI::Success const& done) {
    return app.exit(done);
  } catch (CLI::ParseError const& wrong) {
    std::fprintf(stderr, "%s: error: %s (--help lists the options)\n", app.get_name().c_str(), wrong.what());
    return 2;
  }
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

device_choice device_of(options const& o) {
  auto const& name = o.device;
  auto const& kernel = llama_kernel();
  bool const emulates = kernel.emulated != nullptr;
  if (name == "host") return host_device{};
  if (name == "emulator" && emulates) {
    emulator_device emulated{.kernel = &kernel, .workers = o.workers == 0 ? 2 : static_cast<std::uint32_t>(o.workers)};
    emulated.how.races = false; // a minute a token with them
    emulated.how.batched = true;
    return emulated;
  }
  if (name == "cuda" && kernel.cuda != nullptr) return cuda_device{.kernel = &kernel};
  throw device_error("device '" + name + "': this build has host" + (emulates ? ", emulator" : "") +
                     (kernel.cuda != nullptr ? ", cuda" : ""));
}

std::string prompt_of(options const& o) {
  if (o.prompt_file.empty()) {
    if (o.prompt.empty()) throw error("no prompt: give a text, or --prompt-file");
    expect_text(o.prompt, "the prompt");
    return o.prompt;
  }
  if (!o.prompt.empty()) throw error("both a prompt and --prompt-file are given");
  auto text = read_prompt_file(o.prompt_file);
  expect_text(text, o.prompt_file == "-" ? "the prompt on standard input" : "prompt file '" + o.prompt_file + "'");
  return text;
}

} // namespace mk::llama
