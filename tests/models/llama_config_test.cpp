#include <megakernels/ops/error.hpp>

#include "llama_file.hpp"
#include "models/llama/config.hpp"
#include "models/llama/graph.hpp"

#include <gtest/gtest.h>

namespace mk::test {
namespace {

llama::config config_of(llama_file const& file) {
  temporary_file const written("made.gguf", file.bytes());
  return llama::read_config(gguf_file(written.path()));
}

/// What reading the file throws after the file's name, empty where it succeeds.
std::string refusal(llama_file const& file) {
  temporary_file const written("made.gguf", file.bytes());
  try {
    static_cast<void>(llama::read_config(gguf_file(written.path())));
  } catch (file_error const& e) {
    std::string const message = e.what();
    auto const name = written.path().string() + ": ";
    EXPECT_TRUE(message.starts_with(name)) << message;
    return message.substr(name.size());
  }
  return "";
}

/// The same without the place, which depends on the other entries.
void expect_refused(llama_file const& file, std::string const& cause) {
  auto message = refusal(file);
  if (message.starts_with("byte ")) message.erase(0, message.find(": ") + 2);
  EXPECT_EQ(message, cause);
}

/// Two layers of width 24, 3 heads and 1 of the cache, of 8 each.
llama_file small() { return llama_file().network(2, 24, 3, 1, 8, 40, 50); }

TEST(LlamaConfig, ReadsSizes) {
  auto const c = config_of(small()
                               .text("general.name", "Small")
                               .number("llama.rope.freq_base", 500000.0f)
                               .number("llama.rope.dimension_count", 4u)
                               .number("llama.vocab_size", 50u));
  EXPECT_EQ(c.name, "Small");
  EXPECT_EQ(c.layers, 2);
  EXPECT_EQ(c.hidden, 24);
  EXPECT_EQ(c.heads, 3);
  EXPECT_EQ(c.kv_heads, 1);
  EXPECT_EQ(c.head_dim, 8);
  EXPECT_EQ(c.feed_forward, 40);
  EXPECT_EQ(c.vocabulary, 50);
  EXPECT_EQ(c.context, 512);
  EXPECT_EQ(c.rotary_dim, 4);
  EXPECT_EQ(c.epsilon, 1e-5f);
  EXPECT_EQ(c.theta, 500000.0f);
  EXPECT_TRUE(c.tied);
  EXPECT_FALSE(c.divisors);
  EXPECT_FALSE(c.qkv_bias);
}

TEST(LlamaConfig, KnowsWhatMissingKeysMean) {
  auto const c = config_of(llama_file()
                               .network(1, 24, 3, 3, 8, 40, 50)
                               .without("llama.attention.head_count_kv")
                               .without("llama.attention.key_length")
                               .without("llama.attention.value_length"));
  EXPECT_EQ(c.kv_heads, 3);
  EXPECT_EQ(c.head_dim, 8);
  EXPECT_EQ(c.rotary_dim, 8);
  EXPECT_EQ(c.theta, 10000.0f);
  EXPECT_TRUE(c.name.ends_with("made.gguf")) << c.name;
}

TEST(LlamaConfig, TakesHeadsThatDoNotShareTheWidth) {
  auto const file = llama_file().network(1, 512, 9, 1, 56, 16, 10);
  auto const c = config_of(file);
  EXPECT_EQ(c.head_dim, 56);
  auto const g = llama::make_graph(c, llama::single_sequence(4, 64));
  auto const extents = [&](std::string_view name) {
    auto const& all = g->values();
    auto const found = std::ranges::find(all, name, [](auto const& v) { return std::string_view(v.labels.name); });
    if (found == all.end()) return std::pair(std::int64_t(0), std::int64_t(0));
    return std::pair(found->desc.extents[0].capacity, found->desc.extents[1].capacity);
  };
  EXPECT_EQ(extents("blk.0.attn_q.weight"), std::pair(std::int64_t(504), std::int64_t(512)));
  EXPECT_EQ(extents("blk.0.attn_k.weight"), std::pair(std::int64_t(56), std::int64_t(512)));
  EXPECT_EQ(extents("blk.0.attn_v.weight"), std::pair(std::int64_t(56), std::int64_t(512)));
  EXPECT_EQ(extents("blk.0.attn_output.weight"), std::pair(std::int64_t(512), std::int64_t(504)));
}

TEST(LlamaConfig, RefusesOtherNetworks) {
  expect_refused(small().text("general.architecture", "qwen2"),
                 R"(metadata "general.architecture" is "qwen2", expected "llama")");
  expect_refused(small().without("general.architecture"), R"(metadata "general.architecture" is missing)");
  expect_refused(small().number("llama.attention.sliding_window", 4096u),
                 R"(metadata "llama.attention.sliding_window" is not known: it may change the network)");
  expect_refused(small().number("llama.expert_count", 8u),
                 R"(metadata "llama.expert_count" is 8: mixtures of experts are not known)");
  EXPECT_EQ(refusal(small().number("llama.expert_count", 0u).number("general.quantization_version", 2u)), "");
}

TEST(LlamaConfig, RefusesMissingSizes) {
  for (std::string const key :
       {"llama.block_count", "llama.embedding_length", "llama.attention.head_count", "llama.feed_forward_length",
        "llama.context_length", "llama.attention.layer_norm_rms_epsilon"})
    expect_refused(small().without(key), "metadata \"" + key + "\" is missing");
}

TEST(LlamaConfig, RefusesSizesThatDoNotFit) {
  expect_refused(small().number("llama.block_count", 0u), R"(metadata "llama.block_count" is 0, expected 1 to 4096)");
  expect_refused(small().number("llama.attention.head_count_kv", 2u),
                 R"(metadata "llama.attention.head_count_kv" is 2, which does not divide 3 heads)");
  expect_refused(small().number("llama.attention.head_count_kv", 0u),
                 R"(metadata "llama.attention.head_count_kv" is 0, expected 1 to 16777216)");
  expect_refused(small()
                     .without("llama.attention.key_length")
                     .number("llama.attention.head_count", 5u)
                     .number("llama.attention.head_count_kv", 5u),
                 R"(metadata "llama.attention.head_count" is 5, which does not divide width 24, and no )"
                 "attention.key_length is given");
  expect_refused(small().number("llama.attention.value_length", 4u),
                 R"(metadata "llama.attention.value_length" is 4, expected that of keys, 8)");
  expect_refused(small().number("llama.rope.dimension_count", 10u),
                 R"(metadata "llama.rope.dimension_count" is 10, expected an even number up to the size of a head, 8)");
  expect_refused(small().number("llama.rope.dimension_count", 7u),
                 R"(metadata "llama.rope.dimension_count" is 7, expected an even number up to the size of a head, 8)");
  expect_refused(small().number("llama.vocab_size", 51u),
                 R"(metadata "llama.vocab_size" is 51, but the tensor "token_embd.weight" has 50 rows)");
}

TEST(LlamaConfig, RefusesNumbersThatAreNone) {
  auto const nan = std::numeric_limits<float>::quiet_NaN();
  expect_refused(small().number("llama.attention.layer_norm_rms_epsilon", nan),
                 R"(metadata "llama.attention.layer_norm_rms_epsilon" is nan, expected 0.000000 or more)");
  expect_refused(small().number("llama.attention.layer_norm_rms_epsilon", -1.0f),
                 R"(metadata "llama.attention.layer_norm_rms_epsilon" is -1.000000, expected 0.000000 or more)");
  expect_refused(small().number("llama.rope.freq_base", 0.0f),
                 R"(metadata "llama.rope.freq_base" is 0.000000, expected 1.000000 or more)");
}

TEST(LlamaConfig, RefusesScalingThatItDoesNotKnow) {
  constexpr auto type = "llama.rope.scaling.type";
  constexpr auto factor = "llama.rope.scaling.factor";
  for (std::string const name : {"foo", "linear", "yarn"})
    expect_refused(small().text(type, name),
                   R"(metadata "llama.rope.scaling.type" is ")" + name + R"(", expected "none" or "llama3")");
  expect_refused(small().text(type, "llama3"),
                 R"(metadata "llama.rope.scaling.type" is "llama3", but the tensor "rope_freqs.weight" is missing)");
  expect_refused(small().number(factor, 4.0f),
                 R"(metadata "llama.rope.scaling.factor" is 4.000000: linear scaling is not known)");
  expect_refused(small().number("llama.rope.scale_linear", 2.0f),
                 R"(metadata "llama.rope.scale_linear" is 2.000000: linear scaling is not known)");
  expect_refused(small().tensor("rope_freqs.weight", {3}), R"(tensor "rope_freqs.weight" is 3, expected 4)");
  EXPECT_EQ(refusal(small().text(type, "none")), "");
  EXPECT_EQ(refusal(small().number(factor, 1.0f)), "");
  auto const scaled = small().text(type, "llama3").number(factor, 32.0f).tensor("rope_freqs.weight", {4});
  EXPECT_TRUE(config_of(scaled).divisors);
}

TEST(LlamaConfig, RefusesOtherTensors) {
  expect_refused(small().without("blk.1.ffn_up.weight"), R"(tensor "blk.1.ffn_up.weight" is missing)");
  expect_refused(small().without("token_embd.weight"), R"(tensor "token_embd.weight" is missing)");
  expect_refused(small().tensor("blk.0.attn_k.weight", {24, 8}),
                 R"(tensor "blk.0.attn_k.weight" is 24 x 8, expected 8 x 24)");
  expect_refused(small().tensor("blk.0.attn_norm.weight", {24, 1}),
                 R"(tensor "blk.0.attn_norm.weight" is 24 x 1, expected 24)");
  expect_refused(small().tensor("token_embd.weight", {24}),
                 R"(tensor "token_embd.weight" is not a table of 1 to 2^24 rows)");
  for (std::string const name : {"blk.2.attn_q.weight", "blk.0.attn_q_norm.weight", "blk.0.attn_output.bias",
                                 "blk.0.ffn_gate.bias", "blk.1.attn_q.bias", "position_embd.weight"})
    expect_refused(small().tensor(name, {24}),
                   "tensor \"" + name + "\" is not part of the network that this program knows");
}

TEST(LlamaConfig, TakesBiasesOfAllThree) {
  auto file = small();
  for (std::string const layer : {"blk.0.", "blk.1."})
    file.tensor(layer + "attn_q.bias", {24}).tensor(layer + "attn_k.bias", {8}).tensor(layer + "attn_v.bias", {8});
  EXPECT_TRUE(config_of(file).qkv_bias);
  expect_refused(file.without("blk.1.attn_v.bias"), R"(tensor "blk.1.attn_v.bias" is missing)");
}

// The file has no flag: the output projection is what is there.
TEST(LlamaConfig, IsTiedWithoutAnOutputProjection) {
  EXPECT_TRUE(config_of(small()).tied);
  EXPECT_FALSE(config_of(small().tensor("output.weight", {50, 24})).tied);
  expect_refused(small().tensor("output.weight", {49, 24}), R"(tensor "output.weight" is 49 x 24, expected 50 x 24)");
}

} // namespace
} // namespace mk::test
