#pragma once

/// Data of the kernels of pack_kernels.hpp, and what plain loops make of them.

#include "../tylo/conversion_data.hpp"
#include "pack_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace mk::test {

template <class To, class From> std::vector<raw<To>> converted_bits(std::vector<From> const& numbers) {
  std::vector<raw<To>> result;
  for (auto const x : numbers) result.push_back(raw_of(tylo::convert_to<To>(x)));
  return result;
}

/// Neighbouring elements of 8 or 16 bits as words, the first one lowest.
template <class Bits> std::vector<std::uint32_t> words_of(std::vector<Bits> const& elements) {
  constexpr std::size_t per_word = 4 / sizeof(Bits);
  std::vector<std::uint32_t> result(elements.size() / per_word);
  for (std::size_t i = 0; i < elements.size(); ++i)
    result[i / per_word] |= std::uint32_t{elements[i]} << 8 * sizeof(Bits) * (i % per_word);
  return result;
}

/// Where two arrays differ first; their size where they are equal.
template <class T> std::size_t first_difference(std::vector<T> const& a, std::vector<T> const& b) {
  std::size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  return i;
}

/// A tile for `quantize`: numbers, large numbers, zeros, and one number that is not zero.
inline std::vector<float> tile_to_quantize() {
  std::vector<float> tile(std::size_t(quantized_rows) * quantized_columns);
  for (int column = 0; column < quantized_columns; ++column) {
    auto const i = std::size_t(column);
    tile[i] = std::sin(static_cast<float>(column) * 0.7f) * 3;
    tile[quantized_columns + i] = static_cast<float>(column - 100) * 1e30f;
  }
  tile[3 * quantized_columns + 17] = -0.001f;
  return tile;
}

struct quantized {
  std::vector<std::uint32_t> words;
  std::vector<float> scales;
};

inline quantized quantized_by_loops(std::vector<float> const& tile) {
  quantized result;
  std::vector<std::uint8_t> codes;
  for (std::size_t row = 0; row < quantized_rows; ++row) {
    auto const* const x = tile.data() + row * quantized_columns;
    float most = 0;
    for (int c = 0; c < quantized_columns; ++c) most = std::max(most, std::abs(x[c]));
    auto const scale = most / 448.0f > 0 ? most / 448.0f : 1.0f;
    result.scales.push_back(scale);
    for (int c = 0; c < quantized_columns; ++c) codes.push_back(tylo::convert_to<tylo::e4m3>(x[c] / scale).bits);
  }
  result.words = words_of(codes);
  return result;
}

} // namespace mk::test
