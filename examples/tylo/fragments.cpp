// Fragments: element by element, with reductions of themselves, from memory and back. docs/tylo/fragments.md

#include "fragments.hpp"

#include "kit.hpp"

#include <algorithm>
#include <cstdio>
#include <type_traits>
#include <vector>

namespace examples::fragments {
namespace {

void show_values() {
  // [values]
  fragment<float, patches> const f{{1.0f, -2.0f, 3.0f, -4.0f}}; // of lane 0, say
  auto const positive = select(f > 0.0f, f, 0.0f);
  for (unsigned s = 0; s < 4; ++s) {
    auto const at = patches(0, s);
    std::printf("slot %u of lane 0 is (%d, %d): %g\n", s, at.row, at.column, static_cast<double>(positive.data[s]));
  }
  // [/values]
}

void run_relu() {
  int const rows = 3, columns = 1000;
  auto const values = kit::as<bf16>(kit::numbers(3 * 1000));
  kit::emulator::array<bf16> const x(values, "x"), y(values.size(), {}, "y");
  // [launch]
  auto const kernel = [=, x = x.data(), y = y.data()] { scaled_relu(x, y, rows, columns, 0.5f); };
  emulator::launch({.ctas = 3, .threads = 32}, {.seed = 1}, kernel);
  // [/launch]
  bool right = true;
  for (std::size_t i = 0; i < values.size(); ++i)
    right = right && y[i].bits == bf16(std::max(static_cast<float>(values[i]) * 0.5f, 0.0f)).bits;
  kit::say("a scaled ReLU of rows", right);
}

/// What types come out.
template <class X, class N, class B> constexpr bool check_types(X x, N n, B b) {
  // [types]
  static_assert(std::is_same_v<decltype(x + 1.0f), fragment<float, patches>>);
  static_assert(std::is_same_v<decltype(x + 1.0), fragment<double, patches>>);
  static_assert(std::is_same_v<decltype(x + n), fragment<float, patches>>); // float and int
  static_assert(std::is_same_v<decltype(n / 2), fragment<int, patches>>);   // towards zero, as int / int is
  static_assert(std::is_same_v<decltype(b + b), fragment<int, patches>>);   // std::int8_t and std::int8_t
  static_assert(std::is_same_v<decltype(x < n), fragment<bool, patches>>);
  static_assert(std::is_same_v<decltype(select(x < n, x, 0.5)), fragment<double, patches>>);
  // [/types]
  (void)x, (void)n, (void)b;
  return true;
}
static_assert(check_types(fragment<float, patches>{}, fragment<int, patches>{}, fragment<std::int8_t, patches>{}));

void run_functions() {
  fragment<float, patches> const x{{-1.0f, -0.25f, 0.0f, 3.0f}}, y{{1.0f, -1.0f, -1.0f, 1.0f}};
  auto const found = gates(x, y, 0.5f);
  bool right = true;
  for (int s = 0; s < found.slots; ++s) {
    auto const a = std::max(x.data[s] * 2 + 1, 0.0f), b = y.data[s] < 0 ? 0.5f * a : a;
    right = right && found.data[s] == std::clamp(b, 0.0f, 1.0f);
  }
  kit::say("functions of elements", right);
}

void run_broadcast() {
  auto const values = kit::numbers(16 * 64), biases = kit::numbers(64, 1);
  kit::emulator::array<float> const x(values, "x"), bias(biases, "bias"), y(values.size(), {}, "y");
  emulator::launch({.threads = 32}, {},
                   [x = x.data(), bias = bias.data(), y = y.data()] { centre_rows<tile_c>(x, bias, y); });
  std::vector<double> expected;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < 64; ++c) sum += static_cast<double>(values[i / 64 * 64 + c]);
    expected.push_back(static_cast<double>(values[i]) - sum / 64 + static_cast<double>(biases[i % 64]));
  }
  kit::say("rows without their mean, with a bias", kit::near(y.span(), std::span<double const>(expected), 1e-6));
}

// [plans]
constexpr auto in_shared = swizzled<hardware_swizzle(128, sizeof(float))>(row_major<32, 32>()).form;
static_assert(vector_elements<row_a_lane, in_shared, 16, sizeof(float)> == 4);    // 16 bytes at once
static_assert(vector_elements<column_a_lane, in_shared, 16, sizeof(float)> == 1); // slots are in different rows
static_assert(vector_elements<row_a_lane, in_shared, 8, sizeof(float)> == 2);     // as the claim allows
// [/plans]

void run_hand_over() {
  auto const values = kit::numbers(32 * 32);
  kit::emulator::array<float> const x(values, "x"), y(values.size(), {}, "y");
  emulator::launch({.threads = 32, .shared_bytes = 4096}, {.seed = 2},
                   [x = x.data(), y = y.data()] { running_sums(x, y); });
  bool right = true;
  for (std::size_t row = 0; row < 32; ++row) {
    float sum = 0;
    for (std::size_t i = row * 32; i < row * 32 + 32; ++i) {
      sum = i % 32 == 0 ? values[i] : sum + values[i];
      right = right && y[i] == sum;
    }
  }
  kit::say("running sums by way of shared memory", right);
}

} // namespace
} // namespace examples::fragments

int main() {
  using namespace examples::fragments;
  show_values();
  std::puts("");
  run_relu();
  run_functions();
  run_broadcast();
  run_hand_over();
  return kit::failures == 0 ? 0 : 1;
}
