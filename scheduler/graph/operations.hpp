#pragma once

/// The operations of the library as functions that add one node to a graph and return what it makes:
///
///     using namespace mk;
///     value h = build::rms_norm(g, "norm", x, norm_weight);
///     value q = build::linear(g, "q", h, q_weight, {.bias = q_bias});
///
/// Options are for designated initialisers. A data type that is not given is that of the first operand. What the
/// operations mean, and which shapes they take, is said in `megakernels/ops/<operation>/`. Wrong use throws
/// graph_error.

#include <megakernels/ops/rope/rope.hpp>
#include <megakernels/scheduler/graph/graph.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace mk::build {

/// A paged cache of keys and values (`megakernels/ops/paged_cache.hpp` tells its layout).
struct paged_kv {
  value k{};
  value v{};
  value block_table{};
};

/// Which token of which sequence each row of a ragged batch is.
struct batch_rows {
  value sequence{};
  value position{};
};

/// The outputs of attention over all keys, or over each part of them.
struct attention_state {
  value o{};
  value lse{}; ///< absent unless asked for
};

struct embedding_options {
  std::optional<data_type> type{};
};
/// y[t] = table[ids[t]]. Also gathers rows of activations.
value embedding(graph&, std::string name, value table, value ids, embedding_options const& = {});

struct rms_norm_options {
  float epsilon = 1e-5f;
  std::optional<data_type> type{};
};
/// `weight` may be absent.
value rms_norm(graph&, std::string name, value x, value weight, rms_norm_options const& = {});

struct linear_options {
  bool silu = false; ///< implied by `up`
  value up{};
  value bias{};
  value residual{};
  value scale{};
  value up_scale{};
  std::optional<data_type> type{};
};
/// y = x * weight^T; with `up`: silu(x * weight^T) * (x * up^T).
value linear(graph&, std::string name, value x, value weight, linear_options const& = {});

struct rope_options {
  std::int32_t head_dim = 0;                ///< must be given
  std::optional<std::int32_t> rotary_dim{}; ///< if not given, all of a head
  std::int32_t pairing = mk::rope::halves;
  std::int32_t scaling = mk::rope::no_scaling;
  float theta = 10000.0f;
  float factor = 1.0f;
  float low_frequency_factor = 1.0f;
  float high_frequency_factor = 4.0f;
  std::int32_t original_length = 8192;
  value divisors{};
  std::optional<data_type> type{};
};
value rope(graph&, std::string name, value x, value position, rope_options const&);

/// Writes keys and values of the rows into the cache, whose k and v are states.
void kv_append(graph&, std::string name, value k, value v, paged_kv const&, batch_rows const&);

struct attention_options {
  bool causal = true;
  std::int32_t splits = 1;      ///< with 2 or more, the result is one state for each part: see `merge`
  std::optional<float> scale{}; ///< if not given, 1 / sqrt(head_dim)
  bool lse = false;             ///< implied by `splits`
  std::optional<data_type> type{};
};
/// `length` counts the keys of each sequence. Heads and their size follow from q and the cache.
attention_state attention(graph&, std::string name, value q, paged_kv const&, batch_rows const&, value length,
                          attention_options const& = {});

struct merge_options {
  bool lse = false;
  std::optional<data_type> type{};
};
/// Joins the states of parts of the keys.
attention_state merge(graph&, std::string name, attention_state const& parts, merge_options const& = {});

struct silu_mul_options {
  std::optional<data_type> type{};
};
value silu_mul(graph&, std::string name, value gate, value up, silu_mul_options const& = {});

struct add_options {
  std::optional<data_type> type{};
};
value add(graph&, std::string name, value a, value b, add_options const& = {});

struct softmax_options {
  float scale = 1.0f;
  std::optional<data_type> type{};
};
value softmax(graph&, std::string name, value x, softmax_options const& = {});

/// How a token is drawn for each row; all are step values or inputs.
struct sampling {
  value temperature{};
  value top_k{};
  value top_p{};
  value seed{};
  value counter{};
};
/// The token of each row.
value sample(graph&, std::string name, value logits, sampling const&);

} // namespace mk::build
