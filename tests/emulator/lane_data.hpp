#pragma once

/// Data of the kernels that the emulator and a GPU both run, and what plain loops make of them.

#include <megakernels/tylo/numbers.hpp>

#include "lane_kernels.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace mk::test {

/// Whole numbers from -largest to largest: sums of their products are exact while below 2^24.
template <class T> std::vector<T> whole_numbers(std::size_t count, int largest, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> result(count);
  for (auto& v : result)
    v = T(static_cast<float>(static_cast<int>(random() % static_cast<unsigned>(2 * largest + 1)) - largest));
  return result;
}

template <class T> std::vector<T> any_bits(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> result(count);
  for (auto& v : result) v = static_cast<T>(random());
  return result;
}

/// sums(m, n) + a(m, 0) * b(n, 0) + a(m, 1) * b(n, 1) + ...; rows of a and b lie `pitch` apart.
template <class T>
std::vector<float> product_of(std::vector<T> const& a, std::vector<T> const& b, std::vector<float> sums,
                              std::size_t columns, std::size_t depth, std::size_t pitch) {
  for (std::size_t m = 0; m < sums.size() / columns; ++m)
    for (std::size_t n = 0; n < columns; ++n)
      for (std::size_t k = 0; k < depth; ++k)
        sums[m * columns + n] += static_cast<float>(a[m * pitch + k]) * static_cast<float>(b[n * pitch + k]);
  return sums;
}

/// What a warp multiplies, of any size that fits.
template <class T> struct ragged_product {
  unsigned rows, columns, depth, pitch;
  std::vector<T> a, b;
  std::vector<float> initial;

  explicit ragged_product(std::mt19937_64& random)
      : rows(1 + static_cast<unsigned>(random() % most_rows)),
        columns(1 + static_cast<unsigned>(random() % most_columns)),
        depth(1 + static_cast<unsigned>(random() % most_depth)), pitch((depth + 7) / 8 * 8),
        a(whole_numbers<T>(rows * pitch, 64, random())), b(whole_numbers<T>(columns * pitch, 64, random())),
        initial(rows * columns) {
    for (auto& v : initial) v = static_cast<float>(random() % 2001) - 1000;
  }

  [[nodiscard]] std::vector<float> expected() const { return product_of(a, b, initial, columns, depth, pitch); }
  [[nodiscard]] std::string text() const {
    return std::to_string(rows) + " x " + std::to_string(columns) + " x " + std::to_string(depth);
  }
};

/// Matrices of 8 x 8, each with rows and columns exchanged.
inline std::vector<std::uint16_t> transposed_matrices(std::vector<std::uint16_t> const& from) {
  auto result = from;
  for (std::size_t i = 0; i < from.size(); ++i) result[i] = from[i / 64 * 64 + i % 8 * 8 + i / 8 % 8];
  return result;
}

} // namespace mk::test
