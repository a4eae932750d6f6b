#pragma once

/// What transformers says about a model, read from tests/golden.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace mk::test {

/// In the folder that the environment variable MEGAKERNELS_GOLDEN names, where the tests run elsewhere than they were
/// built; else in the source tree.
inline std::string golden_path(std::string const& name) {
  auto const* const folder = std::getenv("MEGAKERNELS_GOLDEN");
  return std::string(folder != nullptr ? folder : MK_GOLDEN_DIR) + "/" + name;
}

inline nlohmann::json read_golden(std::string const& name) {
  std::ifstream file(golden_path(name));
  if (!file) throw std::runtime_error(golden_path(name) + " cannot be read");
  return nlohmann::json::parse(file);
}

/// A text of a tiny model, with the logits after each of its tokens, one after the other.
struct golden_text {
  std::vector<std::int32_t> tokens;
  std::vector<float> logits;
};

inline golden_text read_golden_text(std::string const& name) {
  auto const json = read_golden(name);
  golden_text text{.tokens = json.at("tokens"), .logits = {}};
  for (auto const& row : json.at("logits")) {
    auto const numbers = row.get<std::vector<float>>();
    text.logits.insert(text.logits.end(), numbers.begin(), numbers.end());
  }
  return text;
}

} // namespace mk::test
