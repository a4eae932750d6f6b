#pragma once

/// Where tests find the model that is too large to be kept beside them.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace mk::test {

/// SmolLM2-135M-Instruct.Q4_1.gguf: the file that the environment variable MEGAKERNELS_SMOLLM2 names, else the one in
/// the folder megakernels of the user's cache ($XDG_CACHE_HOME, or ~/.cache).
inline std::filesystem::path model_path() {
  auto const variable = [](char const* name) -> std::filesystem::path {
    char const* const value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (auto const named = variable("MEGAKERNELS_SMOLLM2"); !named.empty()) return named;
  auto cache = variable("XDG_CACHE_HOME");
  if (cache.empty()) cache = variable("HOME") / ".cache";
  return cache / "megakernels" / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

/// Why a test that needs the model is skipped; empty where the file is there.
inline std::string model_absence() {
  auto const path = model_path();
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) return "";
  return "SmolLM2 is not at " + path.string() + "; set MEGAKERNELS_SMOLLM2 to the path of its GGUF file";
}

} // namespace mk::test

/// Ends the running test as skipped, with the reason, where the model is not there.
#define MK_REQUIRE_MODEL()                                                                                             \
  if (auto const absence = mk::test::model_absence(); !absence.empty()) GTEST_SKIP() << absence
