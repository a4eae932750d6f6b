#include "models/llama/graph.hpp"

#include <megakernels/scheduler/graph/operations.hpp>

namespace mk::llama {
namespace {

class network {
public:
  network(config const& c, capacity const& serves) : c_(c), serves_(serves), g_(std::make_unique<graph>("llama")) {}

  std::unique_ptr<graph> make() {
    auto const tokens = g_->live("tokens", serves_.tokens);
    auto const sequences = g_->live("sequences", serves_.sequences);
    auto const outputs = g_->live("outputs", serves_.outputs);
    rows_ = {.sequence = g_->step("sequence", data_type::int32, {tokens}),
             .position = g_->step("position", data_type::int32, {tokens})};
    length_ = g_->step("length", data_type::int32, {sequences});
    block_table_ = g_->step("block_table", data_type::int32, {sequences, {"blocks", serves_.blocks_per_sequence}});
    if (c_.divisors) divisors_ = g_->constant("rope_freqs.weight", data_type::fp32, {{"pairs", c_.rotary_dim / 2}});

    auto const table = weight("token_embd.weight", {"vocabulary", c_.vocabulary}, hidden());
    auto x = build::embedding(*g_, "embed", table, g_->step("token", data_type::int32, {tokens}),
                              {.type = serves_.activations});
    for (std::int64_t layer = 0; layer < c_.layers; ++layer) x = feed_forward(layer, attend(layer, x));

    auto const last = build::embedding(*g_, "last_rows", x, g_->step("output_row", data_type::int32, {outputs}));
    auto const normed = build::rms_norm(*g_, "output_norm", last, gain("output_norm.weight"), {.epsilon = c_.epsilon});
    auto const logits = build::linear(
        *g_, "logits", normed, c_.tied ? table : weight("output.weight", {"vocabulary", c_.vocabulary}, hidden()),
        {.type = data_type::fp32});
    g_->output("logits", logits);
    g_->output("next_token", build::sample(*g_, "sample", logits,
                                           {.temperature = g_->step("temperature", data_type::fp32, {outputs}),
                                            .top_k = g_->step("top_k", data_type::int32, {outputs}),
                                            .top_p = g_->step("top_p", data_type::fp32, {outputs}),
                                            .seed = g_->step("seed", data_type::int32, {outputs}),
                                            .counter = g_->step("counter", data_type::int32, {outputs})}));
    return std::move(g_);
  }

private:
  axis hidden() const { return {"hidden", c_.hidden}; }

  value weight(std::string name, axis const& out, axis const& in) {
    return g_->constant(std::move(name), serves_.weights, {out, in});
  }
  value gain(std::string name) { return g_->constant(std::move(name), serves_.weights, {hidden()}); }

  value project(std::int64_t layer, std::string const& which, value x, std::int64_t heads) {
    axis const out(which, heads * c_.head_dim);
    auto const name = layer_tensor(layer, "attn_" + which);
    auto const bias = c_.qkv_bias ? g_->constant(name + ".bias", serves_.weights, {out}) : value();
    return build::linear(*g_, name, x, weight(name + ".weight", out, hidden()), {.bias = bias});
  }

  value rotate(std::string name, value x) {
    return build::rope(*g_, std::move(name), x, rows_.position,
                       {.head_dim = static_cast<std::int32_t>(c_.head_dim),
                        .rotary_dim = static_cast<std::int32_t>(c_.rotary_dim),
                        .pairing = mk::rope::neighbours,
                        .theta = c_.theta,
                        .divisors = divisors_});
  }

  value attend(std::int64_t layer, value x) {
    auto const name = [&](std::string_view part) { return layer_tensor(layer, part); };
    auto const normed =
        build::rms_norm(*g_, name("attn_norm"), x, gain(name("attn_norm.weight")), {.epsilon = c_.epsilon});
    auto const q = rotate(name("rope_q"), project(layer, "q", normed, c_.heads));
    auto const k = rotate(name("rope_k"), project(layer, "k", normed, c_.kv_heads));
    auto const v = project(layer, "v", normed, c_.kv_heads);

    std::vector<axis> const cache_axes{{"blocks", serves_.blocks},
                                       {"block_tokens", serves_.block_tokens},
                                       {"kv_heads", c_.kv_heads},
                                       {"head_dim", c_.head_dim}};
    build::paged_kv const cache{.k = g_->state("k_cache." + std::to_string(layer), serves_.activations, cache_axes),
                                .v = g_->state("v_cache." + std::to_string(layer), serves_.activations, cache_axes),
                                .block_table = block_table_};
    build::kv_append(*g_, name("kv_append"), k, v, cache, rows_);
    auto const attended = build::attention(*g_, name("attention"), q, cache, rows_, length_);
    return build::linear(*g_, name("attn_output"), attended.o,
                         weight(name("attn_output.weight"), hidden(), {"q", c_.heads * c_.head_dim}), {.residual = x});
  }

  value feed_forward(std::int64_t layer, value x) {
    auto const name = [&](std::string_view part) { return layer_tensor(layer, part); };
    axis const inner("feed_forward", c_.feed_forward);
    auto const normed =
        build::rms_norm(*g_, name("ffn_norm"), x, gain(name("ffn_norm.weight")), {.epsilon = c_.epsilon});
    auto const gated = build::linear(*g_, name("ffn_gate_up"), normed, weight(name("ffn_gate.weight"), inner, hidden()),
                                     {.up = weight(name("ffn_up.weight"), inner, hidden())});
    return build::linear(*g_, name("ffn_down"), gated, weight(name("ffn_down.weight"), hidden(), inner),
                         {.residual = x});
  }

  config const& c_;
  capacity const& serves_;
  std::unique_ptr<graph> g_;
  build::batch_rows rows_;
  value length_, block_table_, divisors_;
};

} // namespace

std::unique_ptr<graph> make_graph(config const& c, capacity const& serves) { return network(c, serves).make(); }

} // namespace mk::llama
