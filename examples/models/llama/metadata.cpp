#include "models/llama/metadata.hpp"

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

/// All that the graph of a model is made of.
nlohmann::json network_of(config const& c) {
  return {{"layers", c.layers},
          {"hidden", c.hidden},
          {"heads", c.heads},
          {"kv_heads", c.kv_heads},
          {"head_dim", c.head_dim},
          {"feed_forward", c.feed_forward},
          {"vocabulary", c.vocabulary},
          {"rotary_dim", c.rotary_dim},
          {"epsilon", c.epsilon},
          {"theta", c.theta},
          {"tied", c.tied},
          {"divisors", c.divisors},
          {"qkv_bias", c.qkv_bias}};
}

nlohmann::json parse(std::string_view metadata) {
  auto json = nlohmann::json::parse(metadata);
  if (json.at("family") != family) throw program_error("program metadata: the program is not of a Llama model");
  return json;
}

program_error not_metadata(nlohmann::json::exception const& e) {
  return program_error(std::string("program metadata: not that of a Llama model's program: ") + e.what());
}

} // namespace

std::string to_metadata(capacity const& c, config const& model) {
  return nlohmann::json{{"family", family},
                        {"model", model.name},
                        {"network", network_of(model)},
                        {"tokens", c.tokens},
                        {"sequences", c.sequences},
                        {"outputs", c.outputs},
                        {"blocks_per_sequence", c.blocks_per_sequence},
                        {"blocks", c.blocks},
                        {"block_tokens", c.block_tokens},
                        {"positions", c.context()},
                        {"activations", name_of(c.activations)},
                        {"weights", name_of(c.weights)}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); // names in files may be any bytes
}

capacity read_capacity(std::string_view metadata) {
  try {
    auto const json = parse(metadata);
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
            .positions = positive("positions"),
            .activations = data_type_named(json.at("activations")),
            .weights = data_type_named(json.at("weights"))};
  } catch (nlohmann::json::exception const& e) {
    throw not_metadata(e);
  }
}

void expect_made_for(config const& model, std::string_view metadata) {
  try {
    auto const json = parse(metadata);
    auto const& made_for = json.at("network");
    auto const found = network_of(model);
    for (auto const& [key, value] : found.items())
      if (made_for.at(key) != value)
        throw program_error("the program was made for the model '" + json.at("model").get<std::string>() + "', where " +
                            key + " is " + made_for.at(key).dump() + "; in '" + model.name + "' it is " + value.dump());
  } catch (nlohmann::json::exception const& e) {
    throw not_metadata(e);
  }
}

} // namespace mk::llama
