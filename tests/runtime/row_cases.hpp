#pragma once

/// Graphs of `softmax` and `rms_norm` for any device: element types, widths, layouts and rows of all kinds.

#include <megakernels/ops/all.hpp>
#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include "graph_runs.hpp"
#include "node_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mk::test {

inline constexpr data_type row_types[] = {data_type::fp32, data_type::bf16, data_type::fp16, data_type::e4m3};

/// How rows lie in memory. What lies between them is NaN.
enum class row_layout {
  dense,
  padded,       ///< a distance of 8 elements between rows
  odd_pitch,    ///< of one element
  odd_offset,   ///< columns of a wider tensor, from the second on
  even_offset,  ///< columns of a wider tensor, from the ninth on
  every_second, ///< column
};

enum class row_contents {
  ordinary,
  unusual, ///< every fourth row is an ordinary one; the others have infinities, NaN, or very large and small numbers
};

/// The shape of the rows of a graph.
struct row_shape {
  std::int64_t width = 0;
  std::int64_t rows = 7;
  std::optional<std::int64_t> live{}; ///< of the rows; absent where their number is fixed
  row_layout layout = row_layout::dense;
  row_contents contents = row_contents::ordinary;
};

/// Rows of numbers from a seed.
class row_numbers {
public:
  row_numbers(std::uint64_t seed, data_type type, std::int64_t width)
      : random_(seed), most_(largest_of(type)), width_(width) {}

  std::vector<double> ordinary(double low, double high) {
    std::vector<double> row(static_cast<std::size_t>(width_));
    for (auto& v : row) v = between(low, high);
    return row;
  }

  /// `kind` is below `kinds`.
  std::vector<double> unusual(std::int64_t kind) {
    auto row = ordinary(-4, 4);
    auto const one = [&](double v) { row[random_.index(row.size())] = v; };
    auto const all = [&](auto next) { std::generate(row.begin(), row.end(), next); };
    auto const large = most_ * between(0.01, 1);
    std::function<void()> const changes[] = {
        [&] { all([] { return -infinity; }); },
        [&] { one(std::numeric_limits<double>::quiet_NaN()); },
        [&] { one(infinity); },
        [&] { all([] { return -infinity; }), one(1.5); },
        [&] { all([&] { return most_; }); },
        [&] { all([&] { return -most_; }); },
        [&] { all([&] { return random_.chance(50) ? most_ : -most_; }); },
        [&] { all([&] { return random_.chance(90) ? -infinity : between(-4, 4); }); },
        [&] { all([&] { return large; }); },
        [&] { all([&] { return large * (1 - 0x1p-7 * between(0, 3)); }); },
        [&] { all([&] { return std::min(1e10, most_ / 2) + between(-4, 4); }); },
        [&] { all([&] { return between(0, 1e-37); }); },
        [&] { all([] { return 0; }), one(-0.0); },
        [&] { one(-most_); },
        [&] { one(std::min(1e17, most_ / 4)); },
    };
    static_assert(std::size(changes) == kinds * 3 / 4);
    if (kind % 4 != 0) changes[kind / 4 * 3 + kind % 4 - 1]();
    return row;
  }
  static constexpr std::int64_t kinds = 20;

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  static double largest_of(data_type type) {
    return type == data_type::fp32   ? 0x1.FFFFFEp127
           : type == data_type::bf16 ? 0x1.FEp127
           : type == data_type::fp16 ? 65504
                                     : 448;
  }
  double between(double low, double high) {
    return low + (high - low) * (static_cast<double>(random_.bits() >> 11) * 0x1p-53);
  }

  kit::random random_;
  double most_;
  std::int64_t width_;
};

/// Nodes over rows of one shape.
class row_graph {
public:
  explicit row_graph(row_shape shape, kit::shown what = kit::shown::all)
      : shape_(shape), what_(what), made_("rows"), rows_("rows", shape.rows) {
    if (!shape.live) return;
    rows_ = made_.live("rows", shape.rows);
    live.push_back(*shape.live);
  }

  graph const& get() const { return made_; }
  graph& get() { return made_; }
  std::vector<std::int64_t> live;
  kit::contents leaves;

  /// The rows of that type; the same for all nodes.
  value x(data_type type) {
    auto const found = inputs_.find(type);
    return found != inputs_.end() ? found->second : inputs_.emplace(type, make_x(type)).first->second;
  }

  /// So many numbers of about 1, at an odd address or not.
  value weight(data_type type, std::int64_t width, bool odd = false) {
    auto const leaf = made_.constant(fresh("w"), type, {{"width", width + (odd ? 1 : 0)}});
    auto const part = odd ? made_.window(leaf, 0, 1, width) : leaf;
    fill(leaf, part, row_numbers(leaves.size(), type, width).ordinary(0.5, 1.5));
    return part;
  }
  /// A matrix of whole numbers from -1 to 1.
  value matrix(data_type type, std::int64_t out, std::int64_t in) {
    auto const leaf = made_.constant(fresh("w"), type, {{"out", out}, {"in", in}});
    auto numbers = row_numbers(leaves.size(), type, out * in).ordinary(-1, 1);
    for (auto& v : numbers) v = std::round(v);
    fill(leaf, leaf, numbers);
    return leaf;
  }

  value softmax(value of, data_type type, float scale = 1) {
    return shown(build::softmax(made_, fresh("softmax"), of, {.scale = scale, .type = type}));
  }
  value rms_norm(value of, data_type type, value by = {}) {
    return shown(build::rms_norm(made_, fresh("norm"), of, by, {.type = type}));
  }
  /// An output, where all results are.
  value shown(value result) {
    if (what_ == kit::shown::all) made_.output(fresh("y"), result);
    return result;
  }
  std::string fresh(std::string_view what) { return std::string(what) + std::to_string(count_++); }

private:
  value make_x(data_type type) {
    auto const w = shape_.width;
    auto const name = fresh("x");
    auto const before = shape_.layout == row_layout::odd_offset ? 1 : shape_.layout == row_layout::even_offset ? 8 : 0;
    auto const stored = before > 0 ? w + 16 : w;
    std::vector<std::int64_t> strides;
    if (shape_.layout == row_layout::padded) strides = {w + 8, 1};
    if (shape_.layout == row_layout::odd_pitch) strides = {w + 1, 1};
    if (shape_.layout == row_layout::every_second) strides = {2 * w, 2};
    auto const leaf = made_.input(name, type, {rows_, {"width", stored}}, strides);
    auto const part = before > 0 ? made_.window(leaf, 1, before, w) : leaf;
    fill(leaf, part, numbers(type));
    return part;
  }

  std::vector<double> numbers(data_type type) const {
    row_numbers from(static_cast<std::uint64_t>(shape_.width) + 1, type, shape_.width);
    std::vector<double> all;
    for (std::int64_t r = 0; r < shape_.live.value_or(shape_.rows); ++r) {
      auto const row =
          shape_.contents == row_contents::unusual ? from.unusual(r % row_numbers::kinds) : from.ordinary(-4, 4);
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  }

  /// The elements of a part of a leaf, in order; those that are left are NaN.
  void fill(value leaf, value part, std::vector<double> const& numbers) {
    auto& bytes = leaves[made_[leaf].labels.name];
    auto const& desc = made_[part].desc;
    bytes.assign(span_bytes(made_[leaf].desc), std::byte{0xFF});
    auto const last = static_cast<std::size_t>(desc.rank - 1);
    auto const width = desc.extents[last].capacity;
    tylo::with_type(desc.type, [&]<class T>(T) {
      if constexpr (!std::is_integral_v<T>)
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          auto const row = static_cast<std::int64_t>(i) / width, column = static_cast<std::int64_t>(i) % width;
          auto const at =
              made_[part].origin[last] + (last > 0 ? row * desc.strides[0] : 0) + column * desc.strides[last];
          T const element(static_cast<float>(numbers[i]));
          std::memcpy(bytes.data() + static_cast<std::size_t>(at) * sizeof(T), &element, sizeof element);
        }
    });
  }

  row_shape shape_;
  kit::shown what_;
  graph made_;
  axis rows_;
  std::map<data_type, value> inputs_;
  int count_ = 0;
};

/// Runs a graph with so many workers, on some device.
using row_runner = std::function<run_outputs(row_graph&, std::int64_t workers)>;

/// Where elements of a result are still the bytes FF that they started with. NaN of the device has other bits.
inline void expect_all_written(row_graph const& of, run_outputs const& outputs) {
  for (auto const& v : of.get().values()) {
    if (v.output.empty()) continue;
    auto const& bytes = outputs.at(v.output);
    auto const size = static_cast<std::size_t>(tylo::bytes_of(v.desc.type));
    auto const rows = of.live.empty() ? v.desc.extents[0].capacity : of.live[0];
    auto const written = static_cast<std::size_t>(rows * v.desc.strides[0]) * size;
    for (std::size_t i = 0; i < bytes.size(); i += size) {
      bool const untouched = std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                                         bytes.begin() + static_cast<std::ptrdiff_t>(i + size),
                                         [](std::byte b) { return b == std::byte{0xFF}; });
      ASSERT_EQ(untouched, i >= written) << v.labels.name << ", element " << i / size;
    }
  }
}

/// The nodes of a graph beside the host's, and the same bits for each of the numbers of workers. Gives the results.
inline run_outputs check_rows(row_graph& of, std::span<std::int64_t const> workers, row_runner const& run,
                              node_statistics& statistics) {
  run_outputs known;
  for (auto const count : workers) {
    SCOPED_TRACE(std::to_string(count) + " workers");
    try {
      auto const seen = run(of, count);
      if (known.empty()) {
        expect_all_written(of, seen);
        check_nodes(of.get(), of.leaves, of.live, seen, statistics);
        known = seen;
      }
      EXPECT_TRUE(seen == known) << "other bits";
    } catch (device_error const& e) {
      ADD_FAILURE() << e.what();
    }
  }
  return known;
}

/// Both operations from each type to each, and norms by weights of each type.
inline void add_every_pair(row_graph& to, std::int64_t width) {
  for (auto const from : row_types)
    for (auto const type : row_types) {
      to.softmax(to.x(from), type, 0.5f);
      to.rms_norm(to.x(from), type);
      // So that each pair meets each type of weights, in one width or another.
      auto const other = (static_cast<int>(from) + static_cast<int>(type) + static_cast<int>(width / 8)) % 4;
      to.rms_norm(to.x(from), type, to.weight(row_types[other], width));
    }
}

/// Both operations where rows go by vectors: 16-bit types and fp32 to themselves and to another.
inline void add_common_pairs(row_graph& to, std::int64_t width) {
  constexpr std::pair<data_type, data_type> pairs[] = {
      {data_type::bf16, data_type::bf16}, {data_type::fp16, data_type::fp32}, {data_type::fp32, data_type::bf16}};
  for (auto const& [from, type] : pairs) {
    to.softmax(to.x(from), type);
    to.rms_norm(to.x(from), type, to.weight(type, width));
  }
}

/// Scales of softmax that are common, negative, 0, and at the ends of fp32.
inline constexpr float all_scales[] = {0.5f, 1.0f, -3.0f, 0.0f, 1.6e38f, 3e38f, 1e-38f, 1e-42f};

/// Softmax of each scale, and norms with and without weights.
inline void add_scales(row_graph& to, std::int64_t width, data_type from, data_type type,
                       std::span<float const> scales) {
  for (float const scale : scales) to.softmax(to.x(from), type, scale);
  to.rms_norm(to.x(from), type);
  to.rms_norm(to.x(from), type, to.weight(from, width));
}

/// Sums, softmax, norms and products that feed each other in one step; spans of the ring for rows and for weights, of
/// `inner` rows of `width`, follow each other. The result is an output of the name "last".
inline void add_chain(row_graph& to, data_type type, std::int64_t width, std::int64_t inner) {
  auto& g = to.get();
  auto const linear = [&](value x, std::int64_t out, std::int64_t in, build::linear_options const& options) {
    return to.shown(build::linear(g, to.fresh("linear"), x, to.matrix(type, out, in), options));
  };
  auto const a = to.shown(build::add(g, to.fresh("add"), to.x(type), to.x(type)));
  auto const shares = to.softmax(a, type);
  auto const b = to.shown(build::add(g, to.fresh("add"), shares, a));
  auto const normal = to.rms_norm(b, type, to.weight(type, width));
  auto const narrow = to.softmax(linear(normal, inner, width, {}), type, 0.125f);
  auto const wide = linear(narrow, width, inner, {.residual = b});
  auto const last = to.softmax(to.rms_norm(wide, type), type, 2);
  g.output("last", build::rms_norm(g, to.fresh("norm"), last, {}));
}

/// Products of the first row of results by matrices that go round the ring, between nodes of many rows that do.
inline void add_products_between(row_graph& to, data_type type, std::int64_t width) {
  auto& g = to.get();
  auto const out = 110000 / width; // more pages than the ring has
  auto const multiply = [&](value x) {
    to.shown(build::linear(g, to.fresh("linear"), g.window(x, 0, 0, 1), to.matrix(type, out, width)));
  };
  multiply(to.softmax(to.x(type), type));
  multiply(to.rms_norm(to.x(type), type));
  multiply(to.softmax(to.x(type), type, 2));
}

/// A chain with all results shown, beside the host's; with memory that is used again, the same last result.
inline void check_chain(row_shape const& shape, data_type type, std::int64_t inner,
                        std::span<std::int64_t const> workers, row_runner const& run, node_statistics& statistics) {
  row_graph all(shape), some(shape, kit::shown::some);
  add_chain(all, type, shape.width, inner);
  add_chain(some, type, shape.width, inner);
  auto const known = check_rows(all, workers, run, statistics);
  for (auto const count : workers) EXPECT_TRUE(run(some, count).at("last") == known.at("last")) << count << " workers";
}

} // namespace mk::test
