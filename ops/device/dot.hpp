#pragma once

/// Products of rows by one warp. Term i is in the partial sum of lane i mod 32, and these are joined halves onto each
/// other: the order that every sum of the references has. Terms are added with one rounding. So the bits of a sum
/// depend on its terms alone, whichever function makes it.

#include <megakernels/ops/device/element.hpp>
#include <megakernels/ops/device/reduce.hpp>
#include <megakernels/ops/device/rolled.hpp>

#include <cmath>

namespace mk::handlers {

/// Rows that a warp multiplies with one vector at a time.
inline constexpr std::int64_t dot_rows = 4;

/// Elements of a vector: from `first` on, `step` bytes apart.
struct elements {
  std::byte const* first;
  std::int64_t step;
  data_type type;
};

TYLO_FN inline bool is_dense(elements const& v) { return v.step == element_bytes(v.type); }

/// Whether `dot` has a loop of its own for these types.
TYLO_FN inline bool is_common(elements const& x, elements const& v) {
  bool const typed = v.type == data_type::fp32 || v.type == data_type::bf16 || v.type == data_type::fp16;
  return typed && x.type == v.type && is_dense(x) && is_dense(v);
}

/// Adds the lane's terms of `Rows` dense rows, `pitch` bytes apart, times `v`. Several terms are
/// under way at a time.
template <class T, int Rows>
TYLO_FN void add_terms(float (&sums)[dot_rows], std::byte const* x, std::int64_t pitch, std::byte const* v,
                       std::int64_t count, unsigned lane) {
  constexpr std::int64_t warp = tylo::warp_size;
  constexpr std::int64_t step = warp * sizeof(T);
  x += lane * sizeof(T);
  v += lane * sizeof(T);
  auto const add = [&](std::int64_t at) {
    auto const value = load_as<T>(v + at);
    for (int r = 0; r < Rows; ++r) sums[r] = std::fma(load_as<T>(x + r * pitch + at), value, sums[r]);
  };
  auto left = count - lane; // a term is left where it is over 0
  constexpr int at_once = Rows == 1 ? 4 : 2;
  MK_ROLLED for (; left > (at_once - 1) * warp; left -= at_once * warp) {
    for (int i = 0; i < at_once; ++i) add(i * step);
    x += at_once * step;
    v += at_once * step;
  }
  MK_ROLLED for (; left > 0; left -= warp) {
    add(0);
    x += step;
    v += step;
  }
}

template <class T>
TYLO_FN void add_terms(float (&sums)[dot_rows], std::int64_t rows, std::byte const* x, std::int64_t pitch,
                       std::byte const* v, std::int64_t count, unsigned lane) {
  if (rows == 1)
    add_terms<T, 1>(sums, x, pitch, v, count, lane);
  else
    add_terms<T, dot_rows>(sums, x, pitch, v, count, lane);
}

/// Lane r gets the product of `v` with the row that starts `r * pitch` bytes after x. `rows` is 1, or where the types
/// are common also `dot_rows`. All lanes of a warp take part.
TYLO_FN inline float dot(elements const& x, std::int64_t pitch, std::int64_t rows, elements const& v,
                         std::int64_t count, unsigned lane) {
  float sums[dot_rows] = {};
  if (!is_common(x, v)) {
    MK_ROLLED for (std::int64_t i = lane; i < count; i += tylo::warp_size) {
      auto const value = load(v.type, v.first + i * v.step);
      sums[0] = std::fma(load(x.type, x.first + i * x.step), value, sums[0]);
    }
  } else if (v.type == data_type::bf16) {
    add_terms<tylo::bf16>(sums, rows, x.first, pitch, v.first, count, lane);
  } else if (v.type == data_type::fp16) {
    add_terms<tylo::fp16>(sums, rows, x.first, pitch, v.first, count, lane);
  } else {
    add_terms<float>(sums, rows, x.first, pitch, v.first, count, lane);
  }
  auto mine = warp_sum(sums[0]);
  if (rows == 1) return mine;
  for (unsigned r = 1; r < dot_rows; ++r) {
    auto const sum = warp_sum(sums[r]);
    if (lane == r) mine = sum;
  }
  return mine;
}

} // namespace mk::handlers
