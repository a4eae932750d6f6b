#pragma once

/// Random graphs over the operations of the library, with lengths of live axes and contents of leaves that fit them.
/// Numbers are small whole ones. A seed makes the same graph everywhere.

#include <megakernels/scheduler/graph/operations.hpp>
#include <megakernels/scheduler/program/program.hpp>
#include <megakernels/tylo/numbers.hpp>

#include "kit.hpp"

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace mk::kit {

/// Bytes of a leaf at full capacity, as its description lays them out.
using contents = std::map<std::string, std::vector<std::byte>>;

/// Which results of a random graph are outputs.
enum class shown { some, all };

class random_graph {
public:
  /// The same seed gives the same graph, whatever is shown.
  explicit random_graph(std::uint64_t seed, shown what = shown::some)
      : r_(seed), made_(std::make_unique<graph>("random")) {
    add_groups();
    for (auto steps = r_.integer(2, 12); steps > 0; --steps) add_something();
    name_outputs(what);
  }

  graph const& get() const { return *made_; }
  std::vector<std::int64_t> live; ///< length of each live axis
  contents leaves;

  /// Other lengths and step values for the same graph, drawn anew.
  void draw_again() {
    for (std::size_t i = 0; i < live.size(); ++i) live[i] = r_.integer(0, made_->live_axes()[i].capacity);
    for (auto& again : redraw_) again();
  }

private:
  /// Values that have their rows in common.
  struct group {
    axis rows;
    std::vector<value> values{};                       // floating, [rows, any width]
    std::vector<value> tokens{};                       // int32, [rows]
    std::map<std::size_t, build::batch_rows> tables{}; // by cache
    std::optional<build::sampling> how{};
  };

  struct cache {
    std::int64_t block_size, kv_heads, head_dim, sequences, columns;
    std::int64_t blocks = 0;
    build::paged_kv kv{};
    value length{};
    std::int64_t capacity() const { return columns * block_size; }
  };

  graph& g() { return *made_; }
  std::string fresh(std::string_view what) { return std::string(what) + std::to_string(count_++); }
  std::int64_t width_of(value v) const { return (*made_)[v].desc.extents[1].capacity; }
  group& any_group() { return groups_[r_.index(groups_.size())]; }
  data_type any_type() { return r_.pick(types_); }
  std::int64_t any_width() { return r_.pick(widths_); }
  std::int64_t rows_of(axis const& a) const {
    return a.length.is_live() ? live[static_cast<std::size_t>(a.length.live)] : a.length.capacity;
  }

  /// A leaf filled with next(i) in the order of memory.
  template <class F> void fill(value leaf, F next) {
    auto const& info = (*made_)[leaf];
    auto& bytes = leaves[info.labels.name];
    auto const size = static_cast<std::size_t>(tylo::bytes_of(info.desc.type));
    bytes.resize(span_bytes(info.desc));
    for (std::size_t i = 0; i * size < bytes.size(); ++i)
      tylo::with_type(info.desc.type, [&]<class T>(T) {
        T element;
        if constexpr (std::is_integral_v<T>)
          element = static_cast<T>(next(i));
        else
          element = T(static_cast<float>(next(i)));
        std::memcpy(bytes.data() + i * size, &element, sizeof element);
      });
  }
  void fill_numbers(value leaf) {
    fill(leaf, [&](std::size_t) { return r_.integer(-2, 2); });
  }
  /// A step value that is drawn anew for each submission.
  template <class F> value drawn(std::string name, data_type type, axis const& a, F next) {
    auto const leaf = g().step(std::move(name), type, {a});
    redraw_.push_back([this, leaf, next] { fill(leaf, next); });
    redraw_.back()();
    return leaf;
  }

  value constant(data_type type, std::vector<axis> const& axes) {
    auto const c = g().constant(fresh("c"), type, axes);
    fill_numbers(c);
    return c;
  }
  /// [out, in], now and then a part of something larger.
  value weight(data_type type, std::int64_t out, std::int64_t in) {
    if (!r_.chance(20)) return constant(type, {{"out", out}, {"in", in}});
    auto const before = r_.integer(0, 3), after = r_.integer(0, 3);
    auto const whole = constant(type, {{"out", out + before}, {"in", in + after}});
    return g().window(g().window(whole, 0, before, out), 1, 0, in);
  }

  void add_groups() {
    if (r_.chance(90)) {
      auto const capacity = r_.integer(1, 9);
      live.push_back(r_.chance(30) ? capacity : r_.integer(0, capacity));
      groups_.push_back({.rows = g().live("tokens", capacity)});
    }
    if (groups_.empty() || r_.chance(40)) groups_.push_back({.rows = {"batch", r_.chance(5) ? 0 : r_.integer(1, 6)}});
    for (auto& in : groups_) {
      auto const width = any_width();
      std::vector<std::int64_t> strides;
      if (r_.chance(30)) strides = {2 * width + r_.integer(0, 3), r_.integer(1, 2)};
      auto const x = g().input(fresh("x"), any_type(), {in.rows, {"width", width}}, strides);
      fill_numbers(x);
      redraw_.push_back([this, x] { fill_numbers(x); });
      in.values.push_back(x);
    }
  }

  void add_something() {
    auto& in = any_group();
    switch (r_.integer(0, 11)) {
    case 0:
      return keep(in, build::rms_norm(g(), fresh("norm"), x_of(in), {}, {.type = maybe_type()}));
    case 1:
      return keep(in, build::softmax(g(), fresh("softmax"), x_of(in), {.scale = 0.5f, .type = maybe_type()}));
    case 2:
      return add_pair(in);
    case 3:
      return add_rope(in);
    case 4:
      return add_gather(in);
    case 5:
      return add_sample(in);
    case 6:
      return add_window(in);
    case 7:
    case 8:
      return add_attention(in);
    default:
      return add_linear(in);
    }
  }

  value x_of(group const& in) { return r_.pick(in.values); }
  std::optional<data_type> maybe_type() { return r_.chance(60) ? std::nullopt : std::optional(any_type()); }
  void keep(group& in, value v) {
    in.values.push_back(v);
    results_.push_back(v);
  }
  value project(group& in, std::int64_t width) {
    auto const x = x_of(in);
    keep(in, build::linear(g(), fresh("project"), x, weight(any_type(), width, width_of(x))));
    return in.values.back();
  }
  /// Of the same width as v if there is one, else v.
  value like(group const& in, value v) {
    auto const other = x_of(in);
    return width_of(other) == width_of(v) ? other : v;
  }

  void add_linear(group& in) {
    auto const x = x_of(in);
    auto const residual = x_of(in);
    auto const inner = width_of(x), out = r_.chance(50) ? width_of(residual) : any_width();
    build::linear_options options{.silu = r_.chance(10), .type = maybe_type()};
    bool const bytes = r_.chance(10);
    auto const type = bytes ? data_type::int8 : any_type();
    if (r_.chance(25)) options.up = weight(type, out, inner);
    if (r_.chance(30)) options.bias = constant(any_type(), {{"out", out}});
    if (out == width_of(residual) && r_.chance(70)) options.residual = residual;
    if (bytes || r_.chance(10)) options.scale = constant(data_type::fp32, {{"out", out}});
    if (bytes && options.up.present()) options.up_scale = constant(data_type::fp32, {{"out", out}});
    keep(in, build::linear(g(), fresh("linear"), x, weight(type, out, inner), options));
  }

  void add_pair(group& in) {
    auto const a = x_of(in), b = like(in, a);
    if (r_.chance(50))
      keep(in, build::add(g(), fresh("add"), a, b, {.type = maybe_type()}));
    else
      keep(in, build::silu_mul(g(), fresh("silu_mul"), a, b, {.type = maybe_type()}));
  }

  void add_rope(group& in) {
    auto const x = x_of(in);
    std::int64_t head_dim = width_of(x);
    for (std::int64_t d : {4, 2, 8})
      if (width_of(x) % d == 0 && r_.chance(50)) head_dim = d;
    auto const rotary = r_.integer(0, head_dim / 2) * 2;
    auto const position = drawn(fresh("p"), data_type::int32, in.rows, [this](auto) { return r_.integer(0, 50); });
    keep(in, build::rope(g(), fresh("rope"), x, position,
                         {.head_dim = static_cast<std::int32_t>(head_dim),
                          .rotary_dim = static_cast<std::int32_t>(rotary),
                          .pairing = r_.chance(50) ? mk::rope::halves : mk::rope::neighbours,
                          .type = maybe_type()}));
  }

  /// Rows of a constant, or of activations, by ids that come with the step or were drawn by `sample`.
  void add_gather(group& in) {
    if (!in.tokens.empty() && r_.chance(60)) {
      auto const& from = any_group();
      keep(in, build::embedding(g(), fresh("gather"), x_of(from), r_.pick(in.tokens), {.type = maybe_type()}));
      return;
    }
    auto const vocabulary = r_.integer(1, 9);
    auto const ids = drawn(fresh("i"), data_type::int32, in.rows,
                           [this, vocabulary](auto) { return r_.integer(0, vocabulary - 1); });
    auto const table = weight(any_type(), vocabulary, any_width());
    keep(in, build::embedding(g(), fresh("embed"), table, ids, {.type = maybe_type()}));
  }

  void add_sample(group& in) {
    if (!in.how) {
      auto const step = [&](data_type type, std::vector<double> const& choices) {
        return drawn(fresh("s"), type, in.rows, [this, choices](auto) { return r_.pick(choices); });
      };
      in.how = build::sampling{.temperature = step(data_type::fp32, {0, 0, 0.5, 1}),
                               .top_k = step(data_type::int32, {0, 1, 3}),
                               .top_p = step(data_type::fp32, {0.5, 1}),
                               .seed = step(data_type::int32, {7, 8}),
                               .counter = step(data_type::int32, {0, 1, 2})};
    }
    in.tokens.push_back(build::sample(g(), fresh("sample"), x_of(in), *in.how));
    results_.push_back(in.tokens.back());
  }

  void add_window(group& in) {
    auto const x = x_of(in);
    auto const begin = r_.integer(0, width_of(x) - 1);
    in.values.push_back(g().window(x, 1, begin, r_.integer(1, width_of(x) - begin)));
  }

  void add_cache() {
    cache c{.block_size = r_.integer(1, 4),
            .kv_heads = r_.integer(1, 3),
            .head_dim = r_.integer(1, 6),
            .sequences = r_.integer(1, 3),
            .columns = r_.integer(1, 3)};
    c.blocks = c.sequences * c.columns + r_.integer(0, 2);
    auto const type = any_type();
    auto const state = [&] {
      auto const s =
          g().state(fresh("cache"), type,
                    {{"blocks", c.blocks}, {"slots", c.block_size}, {"heads", c.kv_heads}, {"dim", c.head_dim}});
      fill_numbers(s);
      return s;
    };
    c.kv.k = state();
    c.kv.v = state();
    c.kv.block_table = g().step(fresh("t"), data_type::int32, {{"sequences", c.sequences}, {"columns", c.columns}});
    auto const spare = c.blocks - c.sequences * c.columns, rotation = r_.integer(0, c.blocks - 1);
    fill(c.kv.block_table, [&](std::size_t i) { return (static_cast<std::int64_t>(i) + spare + rotation) % c.blocks; });
    c.length = drawn(fresh("l"), data_type::int32, {"sequences", c.sequences},
                     [this, most = c.capacity()](auto) { return r_.integer(0, most); });
    caches_.push_back(c);
  }

  /// Rows of a group as tokens of a cache: no two at the same place.
  build::batch_rows const& tables_of(group& in, std::size_t at) {
    if (auto const found = in.tables.find(at); found != in.tables.end()) return found->second;
    auto const sequences = caches_[at].sequences, capacity = caches_[at].capacity();
    auto const places = std::make_shared<std::vector<std::int64_t>>();
    auto const sequence = drawn(fresh("q"), data_type::int32, in.rows, [=, this](std::size_t i) {
      if (i == 0) {
        places->clear();
        for (std::int64_t p = 0; p < sequences * capacity; ++p) places->push_back(p);
        for (std::size_t p = places->size(); p > 1; --p) std::swap((*places)[p - 1], (*places)[r_.index(p)]);
      }
      return i < places->size() && !r_.chance(10) ? (*places)[i] / capacity : -1;
    });
    auto const position = drawn(fresh("p"), data_type::int32, in.rows, [=, this](std::size_t i) {
      return i < places->size() && !r_.chance(10) ? (*places)[i] % capacity : -1;
    });
    return in.tables.try_emplace(at, build::batch_rows{.sequence = sequence, .position = position}).first->second;
  }

  void add_attention(group& in) {
    if (caches_.empty() || (caches_.size() < 2 && r_.chance(20))) add_cache();
    auto const at = r_.index(caches_.size());
    auto const c = caches_[at];
    auto const rows = tables_of(in, at);
    auto const width = c.kv_heads * c.head_dim;
    if (r_.chance(70)) {
      auto const k = project(in, width);
      build::kv_append(g(), fresh("append"), k, r_.chance(50) ? project(in, width) : k, c.kv, rows);
    }
    build::attention_options const options{.causal = r_.chance(70),
                                           .splits = r_.chance(60) ? 1 : static_cast<std::int32_t>(r_.integer(2, 3)),
                                           .lse = r_.chance(30),
                                           .type = maybe_type()};
    auto const q = project(in, width * r_.integer(1, 3));
    auto state = build::attention(g(), fresh("attention"), q, c.kv, rows, c.length, options);
    if (options.splits > 1) parts_.insert(parts_.end(), {state.o, state.lse});
    if (options.splits > 1) state = build::merge(g(), fresh("merge"), state, {.lse = options.lse, .type = any_type()});
    keep(in, state.o);
    if (options.lse) results_.push_back(state.lse);
  }

  void name_outputs(shown what) {
    if (results_.empty()) return;
    g().output("last", results_.back());
    results_.pop_back();
    for (auto const& v : results_)
      if (auto const name = fresh("out"); r_.chance(25) || what == shown::all) g().output(name, v);
    if (what == shown::all)
      for (auto const& v : parts_) g().output(fresh("part"), v);
  }

  static inline std::vector<data_type> const types_{data_type::fp32, data_type::fp32, data_type::fp32, data_type::bf16,
                                                    data_type::fp16};
  static inline std::vector<std::int64_t> const widths_{1, 2, 3, 5, 8, 12, 16, 33, 48, 70, 130};

  random r_;
  std::unique_ptr<graph> made_;
  std::vector<group> groups_;
  std::vector<cache> caches_;
  std::vector<value> results_;
  std::vector<value> parts_; // states of parts of the keys, which only a merge reads
  std::vector<std::function<void()>> redraw_;
  int count_ = 0;
};

} // namespace mk::kit
