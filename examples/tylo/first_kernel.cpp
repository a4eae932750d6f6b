/// The kernel of first_kernel.hpp in the emulator, against a plain loop.

#include "first_kernel.hpp"

#include <megakernels/tylo/emulator/launch.hpp>
#include <megakernels/tylo/emulator/memory.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int rows = 5, pitch = 264;

std::vector<tylo::bf16> numbers() {
  std::vector<tylo::bf16> result;
  for (int i = 0; i < rows * pitch; ++i) result.emplace_back(static_cast<float>(i * 7 % 31) - 15);
  return result;
}

/// The largest difference from a plain loop in double, where results are of the size of 1.
double worst_error(std::vector<tylo::bf16> const& x, tylo::bf16 const* y) {
  double worst = 0;
  for (int row = 0; row < rows; ++row) {
    auto const at = [&](int i) { return static_cast<std::size_t>(row * pitch + i); };
    double squares = 0;
    for (int i = 0; i < width; ++i) squares += std::pow(static_cast<float>(x[at(i)]), 2);
    for (int i = 0; i < width; ++i) {
      auto const expected = static_cast<double>(static_cast<float>(x[at(i)])) / std::sqrt(squares / width + 1e-6);
      worst = std::max(worst, std::abs(expected - static_cast<double>(static_cast<float>(y[at(i)]))));
    }
  }
  return worst;
}

} // namespace

int main() {
  auto const numbers_in = numbers();
  // [launch]
  tylo::emulator::array<tylo::bf16> const x(numbers_in, "x"), y(numbers_in.size(), {}, "y");
  auto const kernel = [x = x.data(), y = y.data()] { normalize(x, y, rows, pitch, 2); };
  for (std::uint64_t seed = 0; seed < 5; ++seed) tylo::emulator::launch({.threads = 64}, {.seed = seed}, kernel);
  // [/launch]
  bool const right = worst_error(numbers_in, y.data()) < 1.0 / 128; // half a unit in the last place of bf16
  std::printf("five rows by two warps: %s\n", right ? "as a plain loop has them" : "WRONG");
  return right ? 0 : 1;
}
