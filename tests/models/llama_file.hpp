#pragma once

/// Small model files put together by hand, right ones and wrong ones.

#include "../weights/gguf_writer.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace mk::test {

/// A file of the Llama family: metadata and fp32 tensors by name, which tests change before they write it.
class llama_file {
public:
  using extents = std::vector<std::uint64_t>; // outermost first

  llama_file() {
    text("general.architecture", "llama");
    number("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  }

  llama_file& text(std::string const& key, std::string const& value) {
    return set(key, [=](gguf_writer& w) { w.entry(key, value); });
  }
  llama_file& number(std::string const& key, std::uint32_t value) {
    return set(key, [=](gguf_writer& w) { w.entry(key, gguf_type::uint32, value); });
  }
  llama_file& number(std::string const& key, float value) {
    return set(key, [=](gguf_writer& w) { w.entry(key, gguf_type::float32, value); });
  }
  llama_file& texts(std::string const& key, std::vector<std::string> const& values) {
    return set(key, [=](gguf_writer& w) { w.strings(key, values); });
  }
  llama_file& integers(std::string const& key, std::vector<std::int32_t> const& values) {
    return set(key, [=](gguf_writer& w) { w.array(key, gguf_type::int32, values); });
  }
  llama_file& without(std::string const& name) {
    entries_.erase(name);
    tensors_.erase(name);
    return *this;
  }

  /// Row-major elements; where there are none, small numbers that differ.
  llama_file& tensor(std::string const& name, extents const& shape, std::vector<float> elements = {}) {
    auto const count = std::accumulate(shape.begin(), shape.end(), std::uint64_t(1), std::multiplies<>());
    for (auto i = elements.size(); i < count; ++i)
      elements.push_back(static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 256);
    tensors_[name] = {shape, std::move(elements)};
    return *this;
  }

  /// Sizes and every tensor of that many layers.
  llama_file& network(std::uint32_t layers, std::uint32_t hidden, std::uint32_t heads, std::uint32_t kv_heads,
                      std::uint32_t head_dim, std::uint32_t feed_forward, std::uint32_t vocabulary) {
    number("llama.block_count", layers).number("llama.embedding_length", hidden);
    number("llama.attention.head_count", heads).number("llama.attention.head_count_kv", kv_heads);
    number("llama.attention.key_length", head_dim).number("llama.attention.value_length", head_dim);
    number("llama.feed_forward_length", feed_forward).number("llama.context_length", std::uint32_t(512));
    tensor("token_embd.weight", {vocabulary, hidden}).tensor("output_norm.weight", {hidden});
    for (std::uint32_t i = 0; i < layers; ++i) {
      auto const layer = "blk." + std::to_string(i) + ".";
      tensor(layer + "attn_norm.weight", {hidden}).tensor(layer + "ffn_norm.weight", {hidden});
      tensor(layer + "attn_q.weight", {std::uint64_t(heads) * head_dim, hidden});
      tensor(layer + "attn_k.weight", {std::uint64_t(kv_heads) * head_dim, hidden});
      tensor(layer + "attn_v.weight", {std::uint64_t(kv_heads) * head_dim, hidden});
      tensor(layer + "attn_output.weight", {hidden, std::uint64_t(heads) * head_dim});
      tensor(layer + "ffn_gate.weight", {feed_forward, hidden}).tensor(layer + "ffn_up.weight", {feed_forward, hidden});
      tensor(layer + "ffn_down.weight", {hidden, feed_forward});
    }
    return *this;
  }

  [[nodiscard]] std::vector<std::byte> bytes() const {
    gguf_writer w;
    w.header(tensors_.size(), entries_.size());
    for (auto const& [key, write] : entries_) write(w);
    std::uint64_t offset = 0;
    for (auto const& [name, t] : tensors_) {
      w.tensor(name, {t.shape.rbegin(), t.shape.rend()}, fp32, offset);
      offset += (t.elements.size() * sizeof(float) + 31) / 32 * 32;
    }
    w.pad();
    for (auto const& [name, t] : tensors_) {
      for (auto const element : t.elements) w.number(element);
      w.pad();
    }
    return w.bytes();
  }

private:
  static constexpr std::uint32_t fp32 = 0; // as the format numbers types

  struct tensor_data {
    extents shape;
    std::vector<float> elements;
  };

  llama_file& set(std::string const& key, std::function<void(gguf_writer&)> write) {
    entries_[key] = std::move(write);
    return *this;
  }

  std::map<std::string, std::function<void(gguf_writer&)>> entries_;
  std::map<std::string, tensor_data> tensors_;
};

/// A model that says after token t always `next[t]`: the layers add nothing to the embeddings, which are unit vectors.
/// The most likely token has the logit `most`, all others have `least`.
inline llama_file rigged_llama(std::vector<std::int32_t> const& next, float least = 0, float most = 8) {
  auto const vocabulary = static_cast<std::uint32_t>(next.size());
  auto const hidden = vocabulary + 1; // the last element is 1 for every token
  llama_file file;
  file.network(1, hidden, 1, 1, 8, 4, vocabulary);
  auto const zeros = [](std::uint64_t count) { return std::vector<float>(count, 0.0f); };
  file.tensor("blk.0.attn_output.weight", {hidden, 8}, zeros(hidden * 8ul));
  file.tensor("blk.0.ffn_down.weight", {hidden, 4}, zeros(hidden * 4ul));
  // A vector with two ones has the mean square 2 / hidden: the norm makes it that much longer.
  auto const length = std::sqrt(static_cast<float>(hidden) / 2);
  file.tensor("output_norm.weight", {hidden}, std::vector<float>(hidden, 1 / length));
  auto embedding = zeros(std::uint64_t(vocabulary) * hidden);
  auto output = zeros(std::uint64_t(vocabulary) * hidden);
  for (std::uint64_t t = 0; t < vocabulary; ++t) {
    embedding[t * hidden + t] = embedding[t * hidden + vocabulary] = 1;
    output[static_cast<std::uint64_t>(next[t]) * hidden + t] = most - least;
    output[t * hidden + vocabulary] = least;
  }
  file.tensor("token_embd.weight", {vocabulary, hidden}, std::move(embedding));
  file.tensor("output.weight", {vocabulary, hidden}, std::move(output));
  return file;
}

} // namespace mk::test
