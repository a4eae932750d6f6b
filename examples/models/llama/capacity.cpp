#include "models/llama/capacity.hpp"

#include <megakernels/ops/error.hpp>

#include <nlohmann/json.hpp>

namespace mk::llama {
namespace {

constexpr std::string_view family = "llama";

data_type data_type_named(std::string const& name) {
  for (std::int32_t i = 0; is_known(static_cast<data_type>(i)); ++i)
    if (name_of(static_cast<data_type>(i)) == name) return static_cast<data_type>(i);
  throw program_error("program metadata: unknown data type '" + name + "'");
}

} // namespace

std::string to_metadata(capacity const& c) {
  return nlohmann::json{{"family", family},
                        {"tokens", c.tokens},
                        {"sequences", c.sequences},
                        {"outputs", c.outputs},
                        {"blocks_per_sequence", c.blocks_per_sequence},
                        {"blocks", c.blocks},
                        {"block_tokens", c.block_tokens},
                        {"activations", name_of(c.activations)},
                        {"weights", name_of(c.weights)}}
      .dump();
}

capacity read_capacity(std::string_view metadata) {
  try {
    auto const json = nlohmann::json::parse(metadata);
    if (json.at("family") != family) throw program_error("program metadata: the program is not of a Llama model");
    auto const positive = [&](char const* key) {
      auto const value = json.at(key).get<std::int64_t>();
      if (value < 1 || value > (std::int64_t(1) << 31))
        throw program_error(std::string("program metadata: ") + key + " is " + std::to_string(value));
      return value;
    };
    return {.tokens = positive("tokens"),
            .sequences = positive("sequences"),
            .outputs = positive("outputs"),
            .blocks_per_sequence = positive("blocks_per_sequence"),
            .blocks = positive("blocks"),
            .block_tokens = positive("block_tokens"),
            .activations = data_type_named(json.at("activations")),
            .weights = data_type_named(json.at("weights"))};
  } catch (nlohmann::json::exception const& e) {
    throw program_error(std::string("program metadata: not that of a Llama model's program: ") + e.what());
  }
}

capacity single_sequence(std::int64_t tokens, std::int64_t context) {
  capacity c{.tokens = tokens};
  c.blocks = c.blocks_per_sequence = (context + c.block_tokens - 1) / c.block_tokens;
  return c;
}

} // namespace mk::llama
