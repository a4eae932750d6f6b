#pragma once

/// What a device made of each node of a graph, against the host's reference on the same inputs.

#include <megakernels/ops/all.hpp>
#include <megakernels/ops/reference/rows.hpp>

#include "../scheduler/random_graph.hpp"

#include <cmath>
#include <cstdio>

namespace mk::test {

/// The largest error of each operation, in units of what is allowed.
struct node_statistics {
  struct entry {
    std::uint64_t nodes = 0;
    std::uint64_t exact = 0; ///< nodes that must have the host's bits, and had
    double worst = 0;
  };
  std::map<std::string, entry> by_operation;

  void print() const {
    for (auto const& [name, e] : by_operation)
      std::printf("%-12s %6llu nodes, %6llu of them must be the same bits; else worst error %.3f of the bound\n",
                  name.c_str(), static_cast<unsigned long long>(e.nodes), static_cast<unsigned long long>(e.exact),
                  e.worst);
  }
};

/// A value as numbers, row by row at its live length.
inline std::vector<double> numbers_of(tensor_view const& v) {
  std::vector<double> result;
  auto const last = v.extent(v.rank - 1);
  std::array<std::int64_t, max_rank> at{};
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < v.rank; ++i) rows *= v.extent(i);
  for (std::int64_t r = 0; r < rows; ++r) {
    auto rest = r;
    for (int i = v.rank - 2; i >= 0; --i) {
      at[static_cast<std::size_t>(i)] = rest % v.extent(i);
      rest /= v.extent(i);
    }
    std::byte const* from = v.data;
    for (int i = 0; i + 1 < v.rank; ++i) from += at[static_cast<std::size_t>(i)] * v.stride(i) * tylo::bytes_of(v.type);
    std::vector<double> row(static_cast<std::size_t>(last));
    reference::load_row<double>(v.type, from, v.stride(v.rank - 1), row);
    result.insert(result.end(), row.begin(), row.end());
  }
  return result;
}

inline double largest(std::vector<double> const& values) {
  double most = 0;
  for (auto v : values)
    if (std::isfinite(v)) most = std::max(most, std::abs(v));
  return most;
}

/// Distance between neighbouring numbers of a type around `value`.
inline double ulp(data_type type, double value) {
  int const mantissa = type == data_type::fp32 ? 23 : type == data_type::fp16 ? 10 : type == data_type::bf16 ? 7 : 3;
  int exponent = 0;
  (void)std::frexp(value, &exponent);
  auto const least = type == data_type::fp16 ? -24 : type == data_type::e4m3 ? -9 : -126 - mantissa;
  return std::ldexp(1.0, std::max(exponent - 1 - mantissa, least));
}

class node_checker {
public:
  node_checker(graph const& g, kit::contents const& leaves, std::vector<std::int64_t> const& live,
               kit::contents const& outputs, node_statistics& statistics)
      : g_(g), live_(live), statistics_(statistics), memory_(g.values().size()) {
    for (std::size_t v = 0; v < memory_.size(); ++v) {
      auto const& info = g.values()[v];
      if (info.base >= 0) continue;
      memory_[v] = info.kind == value_kind::result ? outputs.at(info.output) : leaves.at(info.labels.name);
    }
  }

  void check() {
    for (auto const& node : g_.nodes()) check_node(node);
  }

private:
  tensor_view view(std::int32_t operand, std::vector<std::byte>* instead = nullptr) {
    if (operand < 0) return {};
    auto const& info = g_.values()[static_cast<std::size_t>(operand)];
    auto& bytes =
        instead != nullptr ? *instead : memory_[static_cast<std::size_t>(info.base < 0 ? operand : info.base)];
    auto* data = bytes.data();
    for (std::size_t i = 0; i < max_rank; ++i)
      data += info.origin[i] * info.desc.strides[i] * tylo::bytes_of(info.desc.type);
    return view_of(info.desc, data, live_.data());
  }

  void check_node(graph::node_info const& node) {
    auto const& op = *node.op;
    auto const work = op.work(node.arguments.data(), g_.operands_of(node));
    auto const rows = work.rows.is_live() ? live_[static_cast<std::size_t>(work.rows.live)] : work.rows.capacity;
    if (rows == 0 || work.columns == 0) return;
    std::vector<tensor_view> views;
    std::vector<std::vector<std::byte>> made(op.slots.size()); // outputs of the host; states change in place
    for (std::size_t i = 0; i < op.slots.size(); ++i) {
      auto const operand = node.operands[i];
      if (!op.slots[i].is_output() || operand < 0) {
        views.push_back(view(operand));
        continue;
      }
      made[i] = memory_[static_cast<std::size_t>(operand)];
      std::fill(made[i].begin(), made[i].end(), std::byte{0xFF});
      views.push_back(view(operand, &made[i]));
    }
    op.run(node.arguments.data(), views, {.row_end = rows, .column_end = work.columns});
    auto& entry = statistics_.by_operation[std::string(op.name)];
    ++entry.nodes;
    bool const exact = is_exact(node, views);
    if (exact) ++entry.exact;
    for (std::size_t i = 0; i < op.slots.size(); ++i) {
      if (made[i].empty()) continue;
      if (exact) {
        EXPECT_EQ(memory_[static_cast<std::size_t>(node.operands[i])], made[i]) << node.name << " (" << op.name << ")";
      } else {
        compare(node, views, view(node.operands[i]), views[i], entry);
      }
    }
  }

  /// Movement, single operations, and products whose sums are whole numbers below 2^24.
  static bool is_exact(graph::node_info const& node, std::vector<tensor_view> const& o) {
    auto const name = node.op->name;
    if (name == embedding::name || name == kv_append::name || name == add::name || name == sample::name) return true;
    if (name != linear::name || o[linear::up].present() || o[linear::scale].present()) return false;
    linear::arguments a;
    std::memcpy(&a, node.arguments.data(), sizeof a);
    if (a.activation != linear::no_activation) return false;
    double reach = 0;
    for (int slot : {linear::x, linear::weight, linear::bias, linear::residual})
      if (o[static_cast<std::size_t>(slot)].present())
        for (auto v : numbers_of(o[static_cast<std::size_t>(slot)]))
          if (v != std::nearbyint(v)) return false;
    reach = largest(numbers_of(o[linear::x])) * largest(numbers_of(o[linear::weight])) *
            static_cast<double>(o[linear::x].extent(1));
    for (int slot : {linear::bias, linear::residual})
      if (o[static_cast<std::size_t>(slot)].present()) reach += largest(numbers_of(o[static_cast<std::size_t>(slot)]));
    return reach < 16777216;
  }

  /// What an fp32 computation of the node may be off, beside the rounding of its result.
  static double slack(std::string_view name, std::vector<tensor_view> const& o) {
    auto const most = [&](int slot) {
      return o[static_cast<std::size_t>(slot)].present() ? largest(numbers_of(o[static_cast<std::size_t>(slot)])) : 0.0;
    };
    if (name == linear::name) {
      auto const inner = static_cast<double>(o[linear::x].extent(1));
      auto const scale = [&](int slot) { return o[static_cast<std::size_t>(slot)].present() ? most(slot) : 1.0; };
      auto const p = most(linear::x) * most(linear::weight) * inner * scale(linear::scale) + most(linear::bias);
      auto const u =
          o[linear::up].present() ? most(linear::x) * most(linear::up) * inner * scale(linear::up_scale) : 1.0;
      return 4e-6 * (p * u + most(linear::residual));
    }
    if (name == attention::name) {
      auto const score =
          most(attention::q) * most(attention::k_cache) * static_cast<double>(o[attention::k_cache].extent(3));
      return 4e-6 * (1 + score) * (1 + most(attention::v_cache));
    }
    if (name == merge::name) return 1e-5 * (1 + most(merge::lse)) * (1 + most(merge::o));
    if (name == rope::name) return 4e-6 * most(rope::x);
    if (name == silu_mul::name) return 4e-6 * (1 + most(silu_mul::gate)) * (1 + most(silu_mul::up));
    return 0;
  }

  /// What it may be off beside that in an element that should be `right`.
  static double slack_of(std::string_view name, double right) {
    // The error of exp(e) is a share of e, which is not larger than the logarithm of the result. What is as good as 0
    // may be any such number.
    if (name == softmax::name) return right > 0 ? 4e-6 * right * (1 - std::log(right)) + 0x1p-60 : 0x1p-60;
    if (name == rms_norm::name) return 1e-5 * std::abs(right); // sums of the host are long in wide rows
    return 0;
  }

  /// Whether values are infinite that the node weighs. A weight that is as good as 0 may be 0: such a value then gives
  /// NaN in place of infinity.
  static bool weighs_infinities(std::string_view name, std::vector<tensor_view> const& o) {
    if (name != attention::name && name != merge::name) return false;
    std::size_t const slot = name == merge::name ? std::size_t(merge::o) : std::size_t(attention::v_cache);
    auto const values = numbers_of(o[slot]);
    return std::any_of(values.begin(), values.end(), [](double v) { return std::isinf(v); });
  }

  static void compare(graph::node_info const& node, std::vector<tensor_view> const& operands, tensor_view const& gpu,
                      tensor_view const& host, node_statistics::entry& entry) {
    auto const a = numbers_of(gpu), b = numbers_of(host);
    auto const extra = slack(node.op->name, operands);
    bool const may_be_nan = weighs_infinities(node.op->name, operands);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
        bool const same = (std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i] ||
                          (may_be_nan && !std::isfinite(a[i]) && !std::isfinite(b[i])) ||
                          (std::isinf(a[i]) != std::isinf(b[i]) && std::abs(a[i]) + std::abs(b[i]) > 6e4);
        ASSERT_TRUE(same) << node.name << " (" << node.op->name << "), element " << i << ": " << a[i]
                          << " on the device, " << b[i] << " on the host; they may be off by " << extra;
        continue;
      }
      auto const bound =
          ulp(gpu.type, std::max(std::abs(a[i]), std::abs(b[i]))) + extra + slack_of(node.op->name, b[i]);
      auto const error = std::abs(a[i] - b[i]);
      entry.worst = std::max(entry.worst, error / bound);
      ASSERT_LE(error, bound) << node.name << " (" << node.op->name << "), element " << i << ": " << a[i]
                              << " on the device, " << b[i] << " on the host";
    }
  }

  graph const& g_;
  std::vector<std::int64_t> const& live_;
  node_statistics& statistics_;
  std::vector<std::vector<std::byte>> memory_;
};

inline void check_nodes(graph const& g, kit::contents const& leaves, std::vector<std::int64_t> const& live,
                        kit::contents const& outputs, node_statistics& statistics) {
  node_checker(g, leaves, live, outputs, statistics).check();
}

} // namespace mk::test
