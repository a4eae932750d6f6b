#include <megakernels/ops/all.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include <algorithm>
#include <cmath>

namespace mk::build {
namespace {

/// The type asked for, or that of x. Without x the node will be refused, whatever the type.
data_type type_or(std::optional<data_type> type, graph const& g, value x) {
  return type ? *type : x.present() ? g[x].desc.type : data_type::fp32;
}

/// The length of an axis as an argument of 32 bits; where it does not fit, a number that no operation accepts.
std::int32_t length_of(graph const& g, value x, std::size_t axis) {
  auto const length = x.present() ? g[x].desc.extents[axis].capacity : 0;
  return static_cast<std::int32_t>(std::min<std::int64_t>(length, INT32_MAX));
}

attention_state state_of(std::vector<value> const& made) {
  return {.o = made.at(0), .lse = made.size() > 1 ? made[1] : value()};
}

} // namespace

value embedding(graph& g, std::string name, value table, value ids, embedding_options const& options) {
  return g.add<mk::embedding>(std::move(name), {.type = type_or(options.type, g, table)}, {table, ids})[0];
}

value rms_norm(graph& g, std::string name, value x, value weight, rms_norm_options const& options) {
  return g.add<mk::rms_norm>(std::move(name), {.epsilon = options.epsilon, .type = type_or(options.type, g, x)},
                             {x, weight})[0];
}

value linear(graph& g, std::string name, value x, value weight, linear_options const& options) {
  bool const silu = options.silu || options.up.present();
  return g.add<mk::linear>(
      std::move(name),
      {.type = type_or(options.type, g, x), .activation = silu ? mk::linear::silu : mk::linear::no_activation},
      {x, weight, options.up, options.bias, options.residual, options.scale, options.up_scale})[0];
}

value rope(graph& g, std::string name, value x, value position, rope_options const& options) {
  mk::rope::arguments const arguments{.head_dim = options.head_dim,
                                      .rotary_dim = options.rotary_dim.value_or(options.head_dim),
                                      .pairing = options.pairing,
                                      .scaling = options.scaling,
                                      .theta = options.theta,
                                      .factor = options.factor,
                                      .low_frequency_factor = options.low_frequency_factor,
                                      .high_frequency_factor = options.high_frequency_factor,
                                      .original_length = options.original_length,
                                      .type = type_or(options.type, g, x)};
  return g.add<mk::rope>(std::move(name), arguments, {x, position, options.divisors})[0];
}

void kv_append(graph& g, std::string name, value k, value v, paged_kv const& cache, batch_rows const& rows) {
  g.add<mk::kv_append>(std::move(name), {}, {k, v, cache.k, cache.v, rows.sequence, rows.position, cache.block_table});
}

attention_state attention(graph& g, std::string name, value q, paged_kv const& cache, batch_rows const& rows,
                          value length, attention_options const& options) {
  auto const head_dim = length_of(g, cache.k, 3);
  auto const scale = options.scale.value_or(1 / std::sqrt(static_cast<float>(std::max(head_dim, 1))));
  mk::attention::arguments const arguments{.heads = length_of(g, q, 1) / std::max(head_dim, 1),
                                           .head_dim = head_dim,
                                           .causal = options.causal,
                                           .splits = options.splits,
                                           .scale = scale,
                                           .type = type_or(options.type, g, q)};
  std::vector<value> const operands{q, cache.k, cache.v, rows.sequence, rows.position, length, cache.block_table};
  if (options.lse || options.splits > 1)
    return state_of(g.add<mk::attention>(std::move(name), arguments, operands, {mk::attention::lse}));
  return state_of(g.add<mk::attention>(std::move(name), arguments, operands));
}

attention_state merge(graph& g, std::string name, attention_state const& parts, merge_options const& options) {
  mk::merge::arguments const arguments{.heads = length_of(g, parts.lse, 2), .type = type_or(options.type, g, parts.o)};
  if (options.lse)
    return state_of(g.add<mk::merge>(std::move(name), arguments, {parts.o, parts.lse}, {mk::merge::merged_lse}));
  return state_of(g.add<mk::merge>(std::move(name), arguments, {parts.o, parts.lse}));
}

value silu_mul(graph& g, std::string name, value gate, value up, silu_mul_options const& options) {
  return g.add<mk::silu_mul>(std::move(name), {.type = type_or(options.type, g, gate)}, {gate, up})[0];
}

value add(graph& g, std::string name, value a, value b, add_options const& options) {
  return g.add<mk::add>(std::move(name), {.type = type_or(options.type, g, a)}, {a, b})[0];
}

value softmax(graph& g, std::string name, value x, softmax_options const& options) {
  return g.add<mk::softmax>(std::move(name), {.scale = options.scale, .type = type_or(options.type, g, x)}, {x})[0];
}

value sample(graph& g, std::string name, value logits, sampling const& how) {
  return g.add<mk::sample>(std::move(name), {},
                           {logits, how.temperature, how.top_k, how.top_p, how.seed, how.counter})[0];
}

} // namespace mk::build
