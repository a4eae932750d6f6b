// An operation that the library does not have, written as a user would: layer norm.

#include <megakernels/ops/all.hpp>
#include <megakernels/ops/reference/rows.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

namespace {

// [operation]
/// y[t, i] = (x[t, i] - mean) / sqrt(variance + epsilon) * weight[i] + bias[i], mean and variance over i.
/// x [rows, width], weight and optional bias [width], any floating types; y [rows, width] of x's type.
struct layer_norm {
  static constexpr std::string_view name = "layer_norm";
  static constexpr std::uint32_t revision = 1;

  struct arguments {
    float epsilon = 1e-5f;
  };

  enum : int { x, weight, bias, y };
  static constexpr std::array slots{mk::input("x"), mk::input("weight"), mk::optional("bias"), mk::output("y")};

  /// Checks operands and arguments, and gives the shapes of the outputs.
  static std::vector<mk::output_shape> infer(arguments const& a, mk::shape_query const& q) {
    q.expect_rank(x, 2);
    q.expect_floating(x);
    for (int const gain : {weight, bias}) {
      if (!q.present(gain)) continue;
      q.expect_rank(gain, 1);
      q.expect_floating(gain);
      q.expect_same(gain, 0, x, 1);
    }
    q.expect_argument(a.epsilon > 0, "epsilon", a.epsilon, "over 0");
    return {q.make(q[x].type, {{x, 0}, {x, 1}})};
  }

  /// How the work can be cut: into rows, which may be live. A row is one piece.
  static mk::work_shape work(arguments const&, std::span<mk::tensor_desc const> o) { return {.rows = o[x].extents[0]}; }

  /// What a task reads and writes. All dependencies follow from this.
  static void regions(arguments const&, std::span<mk::tensor_desc const> o, mk::task const& t, mk::region_list& r) {
    r.read(x).along(0, t.row_begin, t.row_end);
    r.read(weight);
    if (o[bias].rank >= 0) r.read(bias);
    r.write(y).along(0, t.row_begin, t.row_end);
  }

  /// What a task costs: the scheduler cuts and places by it.
  static mk::cost cost_of(arguments const&, std::span<mk::tensor_desc const> o, mk::task const& t) {
    auto const elements = static_cast<double>((t.row_end - t.row_begin) * o[x].extents[1].capacity);
    return {.bytes = 2 * elements * static_cast<double>(bytes_of(o[x].type)), .operations = 7 * elements};
  }

  /// What it means. The host runs it with float; double is what tests compare with.
  template <class Accumulate>
  static void reference(arguments const& a, std::span<mk::tensor_view const> o, mk::task const& t) {
    using namespace mk::reference;
    auto const width = o[x].extent(1);
    auto const row = scratch<Accumulate, 0>(width), square = scratch<Accumulate, 1>(width);
    auto const gain = scratch<Accumulate, 2>(width), shift = scratch<Accumulate, 3>(width);
    load_row<Accumulate>(o[weight].type, o[weight].data, o[weight].stride(0), gain);
    std::ranges::fill(shift, Accumulate(0));
    if (o[bias].present()) load_row<Accumulate>(o[bias].type, o[bias].data, o[bias].stride(0), shift);

    for (auto r = t.row_begin; r < t.row_end; ++r) {
      load_row<Accumulate>(o[x].type, o[x].at(r), o[x].stride(1), row);
      auto const mean = mean_of<Accumulate>(row);
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] -= mean;
        square[i] = row[i] * row[i];
      }
      auto const scale = 1 / std::sqrt(mean_of<Accumulate>(square) + static_cast<Accumulate>(a.epsilon));
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = row[i] * scale * gain[i] + shift[i];
      store_row<Accumulate>(o[y].type, o[y].at(r), o[y].stride(1), row);
    }
  }

  /// Sums in a fixed order that vectorises: 32 partial sums, joined pairwise.
  template <class Accumulate> static Accumulate mean_of(std::span<Accumulate const> row) {
    std::array<Accumulate, mk::reference::partial_sums> partial{};
    for (std::size_t i = 0; i < row.size(); ++i) partial[i % partial.size()] += row[i];
    return mk::reference::join(partial) / static_cast<Accumulate>(row.size());
  }
};
// [/operation]

// [list]
using my_list = mk::operation_list<layer_norm, mk::linear>;

mk::program make_program() {
  mk::graph g("normed projection");
  auto const rows = g.live("rows", 32);
  mk::axis const width("width", 40), out("out", 8);
  auto const x = g.input("x", mk::data_type::fp32, {rows, width});
  auto const weight = g.constant("norm.weight", mk::data_type::fp32, {width});
  auto const h = g.add<layer_norm>("norm", {.epsilon = 1e-6f}, {x, weight})[0]; // no bias
  g.output("y", mk::build::linear(g, "project", h, g.constant("project.weight", mk::data_type::fp32, {out, width})));
  return mk::compile(g, {.workers = 3}, my_list::table);
}
// [/list]

std::shared_ptr<mk::tensor> numbers(std::initializer_list<std::int64_t> extents, int seed) {
  auto t = std::make_shared<mk::tensor>(mk::data_type::fp32, extents);
  for (auto& value : t->span<float>()) value = static_cast<float>((seed = seed * 37 % 101)) / 50 - 1;
  return t;
}

// [test]
/// The largest difference from a plain loop in double.
double worst_error() {
  constexpr std::size_t rows = 5, width = 40, out = 8;
  auto const x = numbers({rows, width}, 1), gain = numbers({width}, 2), weight = numbers({out, width}, 3);
  mk::tensor y(mk::data_type::fp32, {rows, out});

  mk::session session(mk::host_device{}, my_list::table);
  auto const program = session.load(make_program());
  session.set_constant("norm.weight", gain);
  session.set_constant("project.weight", weight);
  session.submit(program, mk::step().live("rows", rows).bind("x", x->view()).bind("y", y.view())).wait();

  double worst = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    auto const row = x->span<float>().subspan(r * width, width);
    double mean = 0, variance = 0;
    for (auto v : row) mean += static_cast<double>(v) / width;
    for (auto v : row) variance += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean) / width;
    for (std::size_t c = 0; c < out; ++c) {
      double expected = 0;
      for (std::size_t i = 0; i < width; ++i)
        expected += (static_cast<double>(row[i]) - mean) / std::sqrt(variance + 1e-6) *
                    static_cast<double>(gain->span<float>()[i]) *
                    static_cast<double>(weight->span<float>()[c * width + i]);
      worst = std::max(worst, std::abs(expected - static_cast<double>(y.span<float>()[r * out + c])));
    }
  }
  return worst;
}
// [/test]

} // namespace

int main() {
  auto const error = worst_error();
  std::printf("largest error %s 1e-5\n", error < 1e-5 ? "under" : "NOT under");
  return error < 1e-5 ? 0 : 1;
}
