#pragma once

/// The command line that mk-generate and mk-run share.

#include <megakernels/runtime/device.hpp>

#include "models/llama/batch.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace mk::llama {

/// What to say, and how.
struct options {
  std::string model = "smollm2";
  std::string device = "host";
  std::string prompt;
  std::string prompt_file;
  bool raw = false;
  std::int64_t max_tokens = 512;
  sampling how;
  std::int64_t workers = 0; ///< 0: one for each core
  std::int64_t context = 2048;
};

void add_model_option(CLI::App&, options&);
void add_worker_options(CLI::App&, options&);
void add_prompt_options(CLI::App&, options&);

/// Reads the command line. The exit code where the program shall end: after --help, or with 2 after a line on standard
/// error that says what is wrong.
std::optional<int> parse(CLI::App&, int argc, char const* const* argv);

/// The file of `--model`: a path, or "smollm2" for the file in the cache folder. Throws error where it is missing.
std::filesystem::path model_path(std::string const& model);

/// The device of `--device`; an emulated one has the workers that are asked for. Throws device_error naming the devices
/// of this build where it is not one of them.
device_choice device_of(options const&);

/// The text to answer: `--prompt-file` (- for standard input) or the argument. Throws error for none or both, where the
/// text is empty, and where it is not text: not UTF-8, or with a zero byte.
std::string prompt_of(options const&);

} // namespace mk::llama
