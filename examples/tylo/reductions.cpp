// Reductions: their plans, their order, and kernels. docs/tylo/reductions.md

#include "reductions.hpp"

#include "kit.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace examples::reductions {
namespace {

constexpr ownership patches{{16, 8}, steps(8, {2, 0}).then(4, {0, 2}), steps(2, {1, 0}).then(2, {0, 1})};
constexpr ownership mma_c{{16, 8}, steps(4, {0, 2}).then(8, {1, 0}), steps(2, {0, 1}).then(2, {8, 0})};
constexpr ownership replicated{{8, 4}, steps(8, {1, 0}).then(4, {0, 0}), steps(4, {0, 1})};
constexpr auto wgmma_64 = tiled(mma_c, {1, 8}, {4, 1});

// [plan]
template <ownership O, axis Along> void print_plan(char const* name) {
  constexpr auto plan = reduction_of<O, Along>;
  std::string distances;
  for (unsigned bit = 16; bit > 0; bit /= 2)
    if ((plan.distances & bit) != 0) distances += " " + std::to_string(bit);
  std::printf("%-10s along %-7s: %d x %d slots, lanes apart:%s%s\n", name, Along == axis::rows ? "rows" : "columns",
              plan.results, O.slots() / plan.results, distances.empty() ? " none" : distances.c_str(),
              plan.verdict == reduction_verdict::spans_warps ? "; then across warps" : "");
}
// [/plan]

void print_plans() {
  print_plan<local<axis::columns>(8), axis::columns>("local");
  print_plan<local<axis::columns>(8), axis::rows>("local");
  print_plan<row_of_warp, axis::columns>("striped");
  print_plan<patches, axis::columns>("patches");
  print_plan<patches, axis::rows>("patches");
  print_plan<mma_c, axis::columns>("mma_c");
  print_plan<replicated, axis::columns>("replicated");
  print_plan<replicated, axis::rows>("replicated");
  print_plan<wgmma_64, axis::columns>("wgmma_64");
  print_plan<wgmma_64, axis::rows>("wgmma_64");
}

// [derived]
static_assert(reduced<patches, axis::columns> ==
              ownership{{16, 1}, steps(8, {2, 0}).then(4, {0, 0}), steps(2, {1, 0})}); // 4 replicas of each row
static_assert(distances_of<patches, axis::columns> == (8 | 16));
static_assert(verdict_of<wgmma_64, axis::rows> == reduction_verdict::spans_warps);
// [/derived]

void run_rows() {
  int const rows = 5, columns = 300;
  auto const values = kit::numbers(5 * 300);
  kit::emulator::array<float> const x(values, "x"), y(values.size(), {}, "y");
  auto const kernel = [=, x = x.data(), y = y.data()] { norm_of_rows(x, y, rows, columns, 1e-6f, 2); };
  emulator::launch({.ctas = 3, .threads = 64}, {.seed = 1}, kernel);
  std::vector<double> expected;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < 300; ++c) sum += std::pow(static_cast<double>(values[i / 300 * 300 + c]), 2);
    expected.push_back(static_cast<double>(values[i]) / std::sqrt(sum / 300 + 1e-6));
  }
  kit::say("norms of rows", kit::near(y.span(), std::span<double const>(expected), 1e-6));
}

// [order]
/// What the sum of a row of `row_of_warp` is to the bit: slots as a balanced tree, then lanes 16, 8, 4, 2, 1 apart.
float sum_in_order(std::vector<float> const& row) {
  std::vector<float> of_lane;
  for (unsigned lane = 0; lane < 32; ++lane) {
    std::vector<float> v;
    for (unsigned s = 0; s < 16; ++s) v.push_back(row[static_cast<std::size_t>(row_of_warp(lane, s).column)]);
    for (std::size_t apart = 1; apart < v.size(); apart *= 2)
      for (std::size_t i = 0; i + apart < v.size(); i += 2 * apart) v[i] += v[i + apart];
    of_lane.push_back(v[0]);
  }
  for (std::size_t apart = 16; apart > 0; apart /= 2)
    for (std::size_t i = 0; i < apart; ++i) of_lane[i] += of_lane[i + apart];
  return of_lane[0];
}
// [/order]

void run_order() {
  auto const row = kit::numbers(512, 1000);
  kit::emulator::array<float> const x(row, "x"), sum(1, {}, "sum");
  emulator::launch({.threads = 32}, {}, [x = x.data(), sum = sum.data()] { write_sums<row_of_warp>(x, sum); });
  float one_by_one = 0;
  for (auto const v : row) one_by_one += v;
  std::printf("in the order of the plan: %s; one by one: %s\n", sum[0] == sum_in_order(row) ? "the same bits" : "WRONG",
              sum[0] == one_by_one ? "the same bits" : "other bits");
  kit::failures += sum[0] == sum_in_order(row) ? 0 : 1;
}

void run_across() {
  auto const values = kit::numbers(2 * 512);
  kit::emulator::array<float> const x(values, "x"), sums(2, {}, "sums");
  emulator::launch({.threads = 128, .shared_bytes = 2 * two_scratch * sizeof(float)}, {.seed = 3},
                   [x = x.data(), sums = sums.data()] { sums_of_two_rows(x, sums); });
  std::vector<double> expected(2);
  for (std::size_t i = 0; i < values.size(); ++i) expected[i / 512] += static_cast<double>(values[i]);
  kit::say("sums across warps", kit::near(sums.span(), std::span<double const>(expected), 1e-5));
}

void run_argmax() {
  auto values = kit::numbers(16 * 8);
  values[3 * 8 + 1] = values[3 * 8 + 5] = 7; // the lower column of two
  kit::emulator::array<float> const x(values, "x");
  kit::emulator::array<int> const places(16, {}, "places");
  emulator::launch({.threads = 32}, {}, [x = x.data(), places = places.data()] { write_places<mma_c>(x, places); });
  bool right = true;
  for (std::size_t row = 0; row < 16; ++row) {
    auto const first = values.begin() + static_cast<std::ptrdiff_t>(row * 8);
    right = right && places[row] == std::max_element(first, first + 8) - first;
  }
  kit::say("places of the largest", right);
}

/// NaN and zeros: four rows, a lane each.
void run_special_values() {
  constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
  constexpr auto four = local<axis::columns>(4); // 32 rows, a lane each
  std::vector<float> values(32 * 4);
  float const some[][4] = {
      {nan, 1, nan, -2}, {nan, nan, nan, nan}, {-0.0f, 0, -0.0f, -0.0f}, {-0.0f, -0.0f, -0.0f, -0.0f}};
  for (std::size_t i = 0; i < 16; ++i) values[i] = some[i / 4][i % 4];
  kit::emulator::array<float> const x(values, "x"), most(32, {}, "most"), least(32, {}, "least"),
      total(32, {}, "total");
  auto const kernel = [=, x = x.data(), most = most.data(), least = least.data(), total = total.data()] {
    auto const v = load<four>(this_warp{}, tile_of<16>(x, row_major<32, 4>()), 0.0f);
    store(this_warp{}, tile_of(most, row_major<32, 1>()), max<axis::columns>(this_warp{}, v));
    store(this_warp{}, tile_of(least, row_major<32, 1>()), min<axis::columns>(this_warp{}, v));
    store(this_warp{}, tile_of(total, row_major<32, 1>()), sum<axis::columns>(this_warp{}, v));
  };
  emulator::launch({.threads = 32}, {}, kernel);
  for (std::size_t i = 0; i < 4; ++i) {
    auto const shown = [](float v) {
      return std::isnan(v) ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(v);
    };
    std::printf("%4g %4g %4g %4g: max %4g, min %4g, sum %4g\n", shown(some[i][0]), shown(some[i][1]), shown(some[i][2]),
                shown(some[i][3]), shown(most[i]), shown(least[i]), shown(total[i]));
  }
}

/// A lane that stays away.
void run_without_a_lane() {
  kit::emulator::array<float> const sums(32, {}, "sums");
  // [divergence]
  auto const kernel = [sums = sums.data()] {
    auto const v = filled<row_of_warp>(1.0f);
    if (lane_rank() < 30) sums[lane_rank()] = only(sum<axis::columns>(this_warp{}, v)); // WRONG: 30 of 32 lanes
  };
  // [/divergence]
  try {
    emulator::launch({.threads = 32}, {}, kernel);
    ++kit::failures;
  } catch (emulator::fault const& found) {
    std::string const report = found.what();
    std::printf("%s\n", report.substr(0, report.find('\n')).c_str());
  }
}

} // namespace
} // namespace examples::reductions

int main() {
  using namespace examples::reductions;
  print_plans();
  std::puts("");
  run_order();
  std::puts("");
  run_special_values();
  std::puts("");
  run_without_a_lane();
  std::puts("");
  run_rows();
  run_across();
  run_argmax();
  return kit::failures == 0 ? 0 : 1;
}
