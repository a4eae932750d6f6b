#pragma once

/// Maps from an index to a coordinate that are sums over the index's digits: who holds what, as constant data.

#include <megakernels/tylo/layout/coordinate.hpp>

namespace tylo {

/// One digit of an index: it counts to `count`, and each count goes on by `step`.
struct leaf {
  int count = 0;
  coordinate step;

  friend constexpr bool operator==(leaf const&, leaf const&) = default;
};

/// Digits of an index, the first one fastest, each with its step. Canonical: no digit of one value, and no two
/// neighbours that one digit could say; so that equal maps are equal values, and types that they are part of are equal.
/// It has no arrays: the entry code that nvcc makes for kernels does not compile with them in a template argument.
struct mode {
  static constexpr int most_leaves = 6;

  int leaves = 0;
  leaf l0, l1, l2, l3, l4, l5;

  TYLO_FN constexpr leaf at(int i) const {
    return i == 0 ? l0 : i == 1 ? l1 : i == 2 ? l2 : i == 3 ? l3 : i == 4 ? l4 : l5;
  }

  /// How many indices there are.
  TYLO_FN constexpr int size() const {
    int size = 1;
    for (int i = 0; i < leaves; ++i) size *= at(i).count;
    return size;
  }

  /// The coordinate of an index. Index 0 has (0, 0).
  TYLO_FN constexpr coordinate operator()(unsigned index) const {
    coordinate sum;
    for (int i = 0; i < leaves; ++i) {
      auto const l = at(i);
      auto const count = static_cast<unsigned>(l.count);
      sum = sum + static_cast<int>(index % count) * l.step;
      index /= count;
    }
    return sum;
  }

  /// One more digit, slower than all others. Not a constant expression where there is no room for it.
  constexpr mode then(int count, coordinate step) const {
    mode result = *this;
    if (count == 1) return result;
    if (leaves > 0) {
      auto last = at(leaves - 1);
      if (last.count * last.step == step) {
        last.count *= count;
        result.set(leaves - 1, last);
        return result;
      }
    }
    if (leaves == most_leaves) throw "tylo: a mode of more than 6 leaves";
    result.set(result.leaves++, leaf{count, step});
    return result;
  }

  /// The digits of another mode, slower than these.
  constexpr mode then(mode const& slower) const {
    mode result = *this;
    for (int i = 0; i < slower.leaves; ++i) result = result.then(slower.at(i).count, slower.at(i).step);
    return result;
  }

  friend constexpr bool operator==(mode const&, mode const&) = default;

private:
  constexpr void set(int i, leaf l) { (i == 0 ? l0 : i == 1 ? l1 : i == 2 ? l2 : i == 3 ? l3 : i == 4 ? l4 : l5) = l; }
};

/// A mode of one digit.
constexpr mode steps(int count, coordinate step) { return mode{}.then(count, step); }

/// The same digits with the axes' names exchanged.
constexpr mode exchanged(mode const& m) {
  mode result;
  for (int i = 0; i < m.leaves; ++i) result = result.then(m.at(i).count, exchanged(m.at(i).step));
  return result;
}

/// Whether there is a mode for a map, and which.
struct fitted_mode {
  bool fits = false;
  mode found;
};

/// The mode of `size` indices with `m(i) == f(i) - f(0)`, if there is one of not too many digits.
template <class F> constexpr fitted_mode fit_mode(int size, F f) {
  mode m;
  for (int done = 1; done < size;) {
    auto const step = f(done) - f(0);
    int count = 1;
    for (int k = 2; k <= size / done && f((k - 1) * done) - f(0) == (k - 1) * step; ++k)
      if (size / done % k == 0) count = k;
    if (count == 1 || m.leaves == mode::most_leaves) return {};
    m = m.then(count, step);
    done *= count;
  }
  for (int i = 0; i < size; ++i)
    if (!(m(static_cast<unsigned>(i)) == f(i) - f(0))) return {};
  return {true, m};
}

} // namespace tylo
