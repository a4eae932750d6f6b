// Online softmax: three kernels of whole rows, and one that goes over keys block by block. docs/tylo/online_softmax.md

#include "online_softmax.hpp"

#include "kit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace examples::softmax {
namespace {

/// Of rows one behind the other, in doubles; zeros where all of a row is masked.
std::vector<double> shares(std::vector<double> const& logits, std::size_t columns) {
  std::vector<double> result(logits.size());
  for (std::size_t first = 0; first < logits.size(); first += columns) {
    double most = -INFINITY, sum = 0;
    for (auto i = first; i < first + columns; ++i) most = std::max(most, logits[i]);
    for (auto i = first; i < first + columns; ++i)
      sum += result[i] = most == -INFINITY ? 0 : std::exp(logits[i] - most);
    for (auto i = first; i < first + columns && sum > 0; ++i) result[i] /= sum;
  }
  return result;
}

std::vector<double> scaled(std::vector<float> const& values, double scale) {
  std::vector<double> result;
  for (auto const v : values) result.push_back(static_cast<double>(v) * scale);
  return result;
}

/// Every seventh element is masked, and all of row 1.
std::vector<float> scores(std::size_t rows, std::size_t columns) {
  auto result = kit::numbers(rows * columns, 8);
  for (std::size_t i = 0; i < result.size(); ++i)
    if (i % 7 == 0 || i / columns == 1) result[i] = masked;
  return result;
}

void run_lanes() {
  constexpr std::size_t rows = 70, columns = 17;
  auto const values = scores(rows, columns);
  std::vector<float> turned(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) turned[i % columns * rows + i / columns] = values[i];
  kit::emulator::array<float> const x(turned, "x"), y(values.size(), {}, "y");
  auto const kernel = [x = x.data(), y = y.data()] { softmax_by_lanes(x, y, rows, columns, 0.5f, 2); };
  emulator::launch({.ctas = 2, .threads = 64}, {.seed = 1}, kernel);
  std::vector<float> found(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) found[i] = y[i % columns * rows + i / columns];
  kit::say("a row a lane", kit::near(std::span<float>(found), shares(scaled(values, 0.5), columns), 1e-6));
}

void run_warps() {
  constexpr std::size_t rows = 3, columns = 1304;
  auto const values = kit::as<bf16>(scores(rows, columns));
  kit::emulator::array<bf16> const x(values, "x"), y(values.size(), {}, "y");
  auto const kernel = [x = x.data(), y = y.data()] { softmax_by_warps(x, y, rows, columns, 0.5f, 2); };
  emulator::launch({.ctas = 2, .threads = 64}, {.seed = 2}, kernel);
  std::vector<double> logits;
  for (auto const v : values) logits.push_back(static_cast<double>(static_cast<float>(v)) * 0.5);
  auto const expected = shares(logits, columns);
  bool right = true;
  for (std::size_t i = 0; i < values.size(); ++i) // a rounding to bf16
    right = right && std::abs(static_cast<double>(static_cast<float>(y[i])) - expected[i]) <= expected[i] * 0x1p-8;
  kit::say("a row a warp", right);
}

void run_epilogue() {
  constexpr std::size_t columns = 50;
  auto const as = kit::as<bf16>(kit::numbers(64 * 16)), bs = kit::as<bf16>(kit::numbers(16 * 64));
  auto biases = kit::numbers(columns, 2);
  biases[3] = masked;
  kit::emulator::array<bf16> const a(as, "a"), b(bs, "b"), y(64 * columns, {}, "y");
  kit::emulator::array<float> const bias(biases, "bias"), log_sums(64, {}, "log_sums");
  auto const kernel = [a = a.data(), b = b.data(), bias = bias.data(), y = y.data(), log_sums = log_sums.data()] {
    product_and_softmax<sums_of_cta>(a, b, 0.25f, bias, int(columns), y, log_sums);
  };
  emulator::launch({.threads = 128}, {.seed = 3}, kernel);
  std::vector<double> logits, logarithms;
  for (std::size_t i = 0; i < 64 * columns; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < 16; ++k)
      sum += static_cast<double>(static_cast<float>(as[i / columns * 16 + k]) *
                                 static_cast<float>(bs[k * 64 + i % columns]));
    logits.push_back(sum / 4 + static_cast<double>(biases[i % columns]));
  }
  for (std::size_t row = 0; row < 64; ++row) {
    double sum = 0;
    for (std::size_t i = row * columns; i < row * columns + columns; ++i) sum += std::exp(logits[i]);
    logarithms.push_back(std::log(sum));
  }
  auto const expected = shares(logits, columns);
  bool right = kit::near(log_sums.span(), std::span<double const>(logarithms), 1e-5);
  for (std::size_t i = 0; i < expected.size(); ++i)
    right =
        right && std::abs(static_cast<double>(static_cast<float>(y[i])) - expected[i]) <= expected[i] * 0x1p-8 + 1e-40;
  kit::say("an epilogue of a product", right);
}

void run_attention() {
  constexpr std::size_t keys = 45;
  auto const qs = kit::numbers(32 * 16), ks = kit::numbers(keys * 16, 2), vs = kit::numbers(keys * 16, 1);
  kit::emulator::array<float> const q(qs, "q"), k(ks, "k"), v(vs, "v"), o(32 * 16, {}, "o");
  auto const kernel = [q = q.data(), k = k.data(), v = v.data(), o = o.data()] {
    attend(q, k, v, o, int(keys), 0.25f);
  };
  emulator::launch({.threads = 64, .shared_bytes = 2304}, {.seed = 4}, kernel);
  std::vector<double> logits, expected(32 * 16);
  for (std::size_t i = 0; i < 32 * keys; ++i) {
    double sum = 0;
    for (std::size_t d = 0; d < 16; ++d)
      sum += static_cast<double>(qs[i / keys * 16 + d]) * static_cast<double>(ks[i % keys * 16 + d]);
    logits.push_back(sum / 4);
  }
  auto const weights = shares(logits, keys);
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t n = 0; n < keys; ++n)
      expected[i] += weights[i / 16 * keys + n] * static_cast<double>(vs[n * 16 + i % 16]);
  kit::say("attention over blocks of keys", kit::near(o.span(), std::span<double const>(expected), 1e-5));
}

// [state]
/// Two pieces of one row, 4 scores a lane; lanes 1 to 31 have rows of masked scores. Natural exponents: scale log2(e).
void show_state() {
  constexpr auto scores_of = local<axis::columns>(4);
  kit::emulator::array<float> const seen(2 * 5, {}, "seen");
  auto const kernel = [seen = seen.data()] {
    float const pieces[2][4] = {{1, 0, masked, -1}, {3, masked, 2, 2}};
    auto state = online_softmax<axis::columns, scores_of>::start();
    for (int i = 0; i < 2; ++i) {
      auto scores = filled<scores_of>(masked);
      for (int s = 0; s < 4 && lane_rank() == 0; ++s) scores.data[s] = pieces[i][s];
      auto const rescale = state.update(this_warp{}, scores, log2_e).rescale;
      if (lane_rank() > 1) continue;
      auto* const to = seen + (i == 0 ? 0 : 5);
      if (lane_rank() == 0) to[0] = only(state.most), to[1] = only(state.sum), to[2] = only(rescale);
      if (lane_rank() == 1) to[3] = only(state.sum), to[4] = only(state.normalizer());
    }
  };
  emulator::launch({.threads = 32}, {}, kernel);
  for (std::size_t i = 0; i < 10; i += 5)
    std::printf("piece %zu: most %g, sum %.4f, rescale %.4f; of a masked row: sum %g, normalizer %g\n", i / 5 + 1,
                static_cast<double>(seen[i]), static_cast<double>(seen[i + 1]), static_cast<double>(seen[i + 2]),
                static_cast<double>(seen[i + 3]), static_cast<double>(seen[i + 4]));
}
// [/state]

} // namespace
} // namespace examples::softmax

int main() {
  using namespace examples::softmax;
  show_state();
  std::puts("");
  run_lanes();
  run_warps();
  run_epilogue();
  run_attention();
  return kit::failures == 0 ? 0 : 1;
}
