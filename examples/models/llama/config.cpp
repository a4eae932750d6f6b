#include "models/llama/config.hpp"

#include <megakernels/ops/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <set>

namespace mk::llama {
namespace {

std::int64_t bounded(gguf_file const& file, std::string const& key, std::uint64_t value, std::uint64_t most) {
  if (value < 1 || value > most)
    file.refuse(key, "is " + std::to_string(value) + ", expected 1 to " + std::to_string(most));
  return static_cast<std::int64_t>(value);
}

std::int64_t required(gguf_file const& file, std::string const& key, std::uint64_t most) {
  return bounded(file, key, file.required_unsigned(key), most);
}

std::int64_t optional(gguf_file const& file, std::string const& key, std::uint64_t most, std::int64_t otherwise) {
  auto const value = file.optional_unsigned(key);
  return value ? bounded(file, key, *value, most) : otherwise;
}

/// Checks shapes as tensors are named, and at the end that the file has no other.
class tensor_check {
public:
  explicit tensor_check(gguf_file const& file) : file_(file) {}

  void expect(std::string const& name, std::initializer_list<std::int64_t> extents) {
    auto const& tensor = file_.required_tensor(name);
    named_.insert(name);
    std::string found;
    std::string wanted;
    for (auto e : tensor.extents) found += (found.empty() ? "" : " x ") + std::to_string(e);
    for (auto e : extents) wanted += (wanted.empty() ? "" : " x ") + std::to_string(e);
    if (found != wanted)
      throw file_error(file_.name() + ": tensor " + printable(name) + " is " + found + ", expected " + wanted);
  }

  void expect_no_other() const {
    for (auto const& tensor : file_.tensors())
      if (!named_.contains(std::string(tensor.name)))
        throw file_error(file_.name() + ": tensor " + printable(tensor.name) +
                         " is not part of the network that this program knows");
  }

private:
  gguf_file const& file_;
  std::set<std::string> named_;
};

void check_tensors(gguf_file const& file, config const& c) {
  auto const q_width = c.heads * c.head_dim;
  auto const kv_width = c.kv_heads * c.head_dim;
  tensor_check check(file);
  check.expect("token_embd.weight", {c.vocabulary, c.hidden});
  check.expect("output_norm.weight", {c.hidden});
  if (!c.tied) check.expect("output.weight", {c.vocabulary, c.hidden});
  if (c.divisors) check.expect("rope_freqs.weight", {c.rotary_dim / 2});
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    auto const name = [&](std::string_view part) { return layer_tensor(layer, part); };
    check.expect(name("attn_norm.weight"), {c.hidden});
    check.expect(name("attn_q.weight"), {q_width, c.hidden});
    check.expect(name("attn_k.weight"), {kv_width, c.hidden});
    check.expect(name("attn_v.weight"), {kv_width, c.hidden});
    if (c.qkv_bias) {
      check.expect(name("attn_q.bias"), {q_width});
      check.expect(name("attn_k.bias"), {kv_width});
      check.expect(name("attn_v.bias"), {kv_width});
    }
    check.expect(name("attn_output.weight"), {c.hidden, q_width});
    check.expect(name("ffn_norm.weight"), {c.hidden});
    check.expect(name("ffn_gate.weight"), {c.feed_forward, c.hidden});
    check.expect(name("ffn_up.weight"), {c.feed_forward, c.hidden});
    check.expect(name("ffn_down.weight"), {c.hidden, c.feed_forward});
  }
  check.expect_no_other();
}

/// Keys that this program understands, and some that say nothing about the result.
constexpr std::array<std::string_view, 21> known_keys = {
    "block_count",
    "embedding_length",
    "feed_forward_length",
    "context_length",
    "vocab_size",
    "tensor_data_layout",
    "expert_count",
    "expert_used_count",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "attention.layer_norm_rms_epsilon",
    "rope.dimension_count",
    "rope.freq_base",
    "rope.scale_linear",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.original_context_length",
    "rope.scaling.finetuned",
    "attention.causal",
};

void check_keys(gguf_file const& file) {
  constexpr std::string_view prefix = "llama.";
  for (auto const& entry : file.entries())
    if (entry.key.starts_with(prefix) && std::ranges::count(known_keys, entry.key.substr(prefix.size())) == 0)
      file.refuse(entry.key, "is not known: it may change the network");
  for (std::string_view const key : {"llama.expert_count", "llama.expert_used_count"})
    if (auto const count = file.optional_unsigned(key); count && *count != 0)
      file.refuse(key, "is " + std::to_string(*count) + ": mixtures of experts are not known");
  if (!file.optional_bool("llama.attention.causal").value_or(true))
    file.refuse("llama.attention.causal", "is false, expected true");
}

/// Scaling of the llama3 kind is the tensor rope_freqs.weight; what metadata names beside it is another formula.
void check_scaling(gguf_file const& file) {
  constexpr auto type_key = "llama.rope.scaling.type";
  auto const type = file.optional_string(type_key);
  if (type && *type != "none" && *type != "llama3")
    file.refuse(type_key, "is " + printable(*type) + ", expected \"none\" or \"llama3\"");
  if (type == "llama3" && file.find_tensor("rope_freqs.weight") == nullptr)
    file.refuse(type_key, "is \"llama3\", but the tensor \"rope_freqs.weight\" is missing");
  // A factor without a type means linear scaling. Writers put 0 for none.
  if (type) return;
  for (std::string_view const key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"})
    if (auto const factor = file.optional_float(key); factor && *factor != 1.0 && *factor != 0.0)
      file.refuse(key, "is " + std::to_string(*factor) + ": linear scaling is not known");
}

float checked(gguf_file const& file, std::string_view key, double value, double least) {
  auto const number = static_cast<float>(value);
  if (!std::isfinite(number) || !(value >= least))
    file.refuse(key, "is " + std::to_string(value) + ", expected " + std::to_string(least) + " or more");
  return number;
}

} // namespace

std::string layer_tensor(std::int64_t layer, std::string_view part) {
  return "blk." + std::to_string(layer) + "." + std::string(part);
}

config read_config(gguf_file const& file) {
  auto const architecture = file.required_string("general.architecture");
  if (architecture != "llama")
    file.refuse("general.architecture", "is " + printable(architecture) + ", expected \"llama\"");
  check_keys(file);
  check_scaling(file);

  constexpr std::uint64_t most = 1u << 24;
  config c;
  c.name = file.optional_string("general.name").value_or(file.name());
  c.layers = required(file, "llama.block_count", 4096);
  c.hidden = required(file, "llama.embedding_length", most);
  c.heads = required(file, "llama.attention.head_count", most);
  c.kv_heads = optional(file, "llama.attention.head_count_kv", most, c.heads);
  if (c.heads % c.kv_heads != 0)
    file.refuse("llama.attention.head_count_kv",
                "is " + std::to_string(c.kv_heads) + ", which does not divide " + std::to_string(c.heads) + " heads");
  if (!file.find("llama.attention.key_length") && c.hidden % c.heads != 0)
    file.refuse("llama.attention.head_count", "is " + std::to_string(c.heads) + ", which does not divide width " +
                                                  std::to_string(c.hidden) + ", and no attention.key_length is given");
  c.head_dim = optional(file, "llama.attention.key_length", most, c.hidden / c.heads);
  if (auto const value_dim = optional(file, "llama.attention.value_length", most, c.head_dim); value_dim != c.head_dim)
    file.refuse("llama.attention.value_length",
                "is " + std::to_string(value_dim) + ", expected that of keys, " + std::to_string(c.head_dim));
  c.feed_forward = required(file, "llama.feed_forward_length", most);
  c.context = required(file, "llama.context_length", std::uint64_t(1) << 30);
  c.rotary_dim = optional(file, "llama.rope.dimension_count", most, c.head_dim);
  if (c.rotary_dim > c.head_dim || c.rotary_dim % 2 != 0)
    file.refuse("llama.rope.dimension_count", "is " + std::to_string(c.rotary_dim) +
                                                  ", expected an even number up to the size of a head, " +
                                                  std::to_string(c.head_dim));
  constexpr auto epsilon_key = "llama.attention.layer_norm_rms_epsilon";
  c.epsilon = checked(file, epsilon_key, file.required_float(epsilon_key), 0);
  constexpr auto theta_key = "llama.rope.freq_base";
  c.theta = checked(file, theta_key, file.optional_float(theta_key).value_or(10000.0), 1);
  auto const& embedding = file.required_tensor("token_embd.weight");
  if (embedding.extents.size() != 2 || embedding.extents[0] < 1 || embedding.extents[0] > most)
    throw file_error(file.name() + ": tensor \"token_embd.weight\" is not a table of 1 to 2^24 rows");
  c.vocabulary = static_cast<std::int64_t>(embedding.extents[0]);
  if (auto const size = optional(file, "llama.vocab_size", most, c.vocabulary); size != c.vocabulary)
    file.refuse("llama.vocab_size", "is " + std::to_string(size) + ", but the tensor \"token_embd.weight\" has " +
                                        std::to_string(c.vocabulary) + " rows");
  c.tied = file.find_tensor("output.weight") == nullptr;
  c.divisors = file.find_tensor("rope_freqs.weight") != nullptr;
  c.qkv_bias = file.find_tensor(layer_tensor(0, "attn_q.bias")) != nullptr;
  check_tensors(file, c);
  return c;
}

} // namespace mk::llama
