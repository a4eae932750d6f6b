#pragma once

/// Graphs of known form, of any size.

#include <megakernels/scheduler/graph/operations.hpp>

#include <memory>
#include <string>

namespace mk::kit {

/// Shape of a Llama-like network.
struct llama_shape {
  std::int64_t layers = 1;
  std::int64_t hidden = 16;
  std::int64_t heads = 4;
  std::int64_t kv_heads = 2;
  std::int64_t head_dim = 4;
  std::int64_t feed_forward = 24;
  std::int64_t vocabulary = 40;
  std::int64_t sequences = 2;
  std::int64_t rows = 3;
  std::int64_t block_size = 4;
  std::int64_t blocks_per_sequence = 3;
  std::int32_t splits = 1;
  data_type type = data_type::fp32;
};

class llama_builder {
public:
  explicit llama_builder(llama_shape const& s) : s_(s), made_(std::make_unique<graph>("llama")) {}

  std::unique_ptr<graph> build() {
    auto const ids = step("ids", tokens_);
    rows_ = {.sequence = step("sequence", tokens_), .position = step("position", tokens_)};
    length_ = step("length", sequences_);
    block_table_ = g().step("block_table", data_type::int32, {sequences_, {"columns", s_.blocks_per_sequence}});
    auto const table = g().constant("embedding", s_.type, {{"vocabulary", s_.vocabulary}, hidden_});
    auto x = build::embedding(g(), "embed", table, ids);
    for (std::int64_t layer = 0; layer < s_.layers; ++layer) {
      x = attend(std::to_string(layer), x);
      x = feed(std::to_string(layer), x);
    }
    x = build::rms_norm(g(), "norm", x, g().constant("norm.weight", s_.type, {hidden_}));
    g().output("logits", build::linear(g(), "head", x, table, {.type = data_type::fp32}));
    return std::move(made_);
  }

private:
  graph& g() { return *made_; }
  value step(std::string name, axis const& a) { return g().step(std::move(name), data_type::int32, {a}); }
  value weight(std::string const& name, std::int64_t out, std::int64_t in) {
    return g().constant(name + ".weight", s_.type, {{"out", out}, {"in", in}});
  }

  value attend(std::string const& layer, value x) {
    auto const width = s_.heads * s_.head_dim, kv_width = s_.kv_heads * s_.head_dim;
    auto const rotary = build::rope_options{.head_dim = static_cast<std::int32_t>(s_.head_dim)};
    auto const h = build::rms_norm(g(), "attention_norm" + layer, x, g().constant("an" + layer, s_.type, {hidden_}));
    auto const qkv = build::linear(g(), "qkv" + layer, h, weight("qkv" + layer, width + 2 * kv_width, s_.hidden));
    auto const q = build::rope(g(), "rope_q" + layer, g().window(qkv, 1, 0, width), rows_.position, rotary);
    auto const k = build::rope(g(), "rope_k" + layer, g().window(qkv, 1, width, kv_width), rows_.position, rotary);
    std::vector<axis> const cache{{"blocks", s_.sequences * s_.blocks_per_sequence},
                                  {"slots", s_.block_size},
                                  {"heads", s_.kv_heads},
                                  {"dim", s_.head_dim}};
    build::paged_kv const kv{.k = g().state("k_cache" + layer, s_.type, cache),
                             .v = g().state("v_cache" + layer, s_.type, cache),
                             .block_table = block_table_};
    build::kv_append(g(), "append" + layer, k, g().window(qkv, 1, width + kv_width, kv_width), kv, rows_);
    auto state = build::attention(g(), "attention" + layer, q, kv, rows_, length_, {.splits = s_.splits});
    if (s_.splits > 1) state = build::merge(g(), "merge" + layer, state, {.type = s_.type});
    return build::linear(g(), "o" + layer, state.o, weight("o" + layer, s_.hidden, width), {.residual = x});
  }

  value feed(std::string const& layer, value x) {
    auto const h = build::rms_norm(g(), "ffn_norm" + layer, x, g().constant("fn" + layer, s_.type, {hidden_}));
    auto const up = build::linear(g(), "gate_up" + layer, h, weight("gate" + layer, s_.feed_forward, s_.hidden),
                                  {.up = weight("up" + layer, s_.feed_forward, s_.hidden)});
    return build::linear(g(), "down" + layer, up, weight("down" + layer, s_.hidden, s_.feed_forward), {.residual = x});
  }

  llama_shape s_;
  std::unique_ptr<graph> made_;
  axis hidden_{"hidden", s_.hidden};
  axis tokens_ = made_->live("tokens", s_.rows);
  axis sequences_{"sequences", s_.sequences};
  value length_, block_table_;
  build::batch_rows rows_;
};

inline std::unique_ptr<graph> make_llama(llama_shape const& s) { return llama_builder(s).build(); }

/// x -> norm -> gate and up -> product -> down, added to x; intermediates of several sizes, so that memory is reused.
inline std::unique_ptr<graph> make_mlp(std::int64_t rows = 3, std::int64_t width = 16, std::int64_t inner = 24) {
  auto made = std::make_unique<graph>("mlp");
  auto& g = *made;
  auto const tokens = g.live("tokens", rows);
  auto const x = g.input("x", data_type::fp32, {tokens, {"width", width}});
  auto const weight = [&](std::string name, std::int64_t out, std::int64_t in) {
    return g.constant(std::move(name), data_type::bf16, {{"out", out}, {"in", in}});
  };
  auto const h = build::rms_norm(g, "norm", x, {});
  auto const gate = build::linear(g, "gate", h, weight("gate_weight", inner, width));
  auto const up = build::linear(g, "up", h, weight("up_weight", inner, width));
  auto const product = build::silu_mul(g, "product", gate, up);
  auto const down = build::linear(g, "down", product, weight("down_weight", width, inner));
  g.output("y", build::add(g, "sum", down, x));
  return made;
}

} // namespace mk::kit
