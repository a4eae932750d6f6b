#pragma once

/// What the kernels of memory_kernels.hpp must do, by plain loops over rows and columns. A runner is one of those of
/// fragment_checks.hpp; `hide` says what of an array no kernel may read, and `fetch` gives its elements.

#include "fragment_checks.hpp"
#include "memory_kernels.hpp"

namespace mk::test {

/// Values of any bits; those of a bool are two.
template <class T, class Element> std::vector<T> any_values(std::size_t count, std::mt19937_64& random) {
  std::vector<T> values(count);
  for (auto& v : values) {
    auto const bits = random() & (std::is_same_v<Element, bool> ? 1u : ~std::uint64_t(0));
    std::memcpy(static_cast<void*>(&v), &bits, sizeof v);
  }
  return values;
}

/// One tile in memory, and what a case must make of it.
template <class Case> struct memory_data {
  using stored = typename Case::output;
  static constexpr auto& owned = Case::owned;

  tile_numbers numbers;
  std::vector<stored> from, to;
  std::vector<unsigned char> readable;
  stored outside;

  memory_data(tile_numbers const& n, std::mt19937_64& random)
      : numbers(n), from(values(Case::elements(n), random)), to(values(from.size(), random)), readable(from.size()),
        outside(values(1, random)[0]) {
    for (int r = 0; r < rows(); ++r)
      for (int c = 0; c < columns(); ++c) readable[place(r, c)] = 1;
  }

  [[nodiscard]] int rows() const { return std::clamp(numbers.rows - numbers.row, 0, owned.shape.row); }
  [[nodiscard]] int columns() const { return std::clamp(numbers.columns - numbers.column, 0, owned.shape.column); }
  [[nodiscard]] std::size_t place(int row, int column) const {
    return elements_before<typename Case::element, typename Case::place> +
           Case::place::template offset<owned, typename Case::element>(numbers, row, column);
  }

  /// The target afterwards: the tile's elements, and around them what was there.
  [[nodiscard]] std::vector<stored> expected() const {
    auto result = to;
    for (std::size_t i = 0; i < from.size(); ++i)
      if (readable[i] != 0) result[i] = from[i];
    return result;
  }
  /// What a thread has in a slot.
  [[nodiscard]] stored loaded(coordinate at) const {
    return at.row < rows() && at.column < columns() ? from[place(at.row, at.column)] : outside;
  }

private:
  static std::vector<stored> values(std::size_t count, std::mt19937_64& random) {
    return any_values<stored, typename Case::element>(count, random);
  }
};

template <class T> bool all_same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class Case, class Runner> void check_memory_of(Runner const& on, memory_data<Case> const& data) {
  using T = typename Case::element;
  using stored = typename Case::output;
  typename Runner::template array<stored> const from(data.from), to(data.to);
  typename Runner::template array<unsigned char> const readable(data.readable);
  for (std::size_t i = 0; i < data.from.size(); ++i)
    if (data.readable[i] == 0) on.hide(from.data() + i);
  auto const slots = on.template run<Case>({reinterpret_cast<T const*>(from.data()), reinterpret_cast<T*>(to.data()),
                                            readable.data(), data.numbers, std::bit_cast<T>(data.outside), nullptr});
  std::size_t i = 0;
  for (unsigned t = 0; t < static_cast<unsigned>(Case::owned.threads()); ++t)
    for (unsigned s = 0; s < static_cast<unsigned>(Case::owned.slots()); ++s)
      ASSERT_TRUE(same_bits(slots[i++], data.loaded(Case::owned(t, s)))) << "slot " << s << " of thread " << t;
  ASSERT_TRUE(all_same_bits(to.fetch(), data.expected()));
}

/// Rows and columns of which a window has some: all, none, more than it takes, and all that the last vectors can be.
inline std::vector<coordinate> ragged_extents(coordinate shape, axis along) {
  std::vector<coordinate> extents{shape,
                                  shape + coordinate{3, 5},
                                  {0, shape.column},
                                  {shape.row, 0},
                                  {1, 1},
                                  {(shape.row + 1) / 2, (shape.column + 2) / 3},
                                  {shape.row - 1, shape.column + 1}};
  for (int missing = 1; missing <= 17 && missing < shape.along(along); ++missing)
    extents.push_back(shape - tylo::step_along(along, missing) - tylo::step_along(other(along), missing % 2));
  return extents;
}

template <class Case, class Runner> void check_memory(Runner const& on) {
  std::mt19937_64 random(8);
  int turn = 0;
  for (auto const extents : ragged_extents(Case::owned.shape, Case::along)) {
    if (extents.row < 0 || extents.column < 0) continue;
    auto const n = Case::place::template numbers<Case::owned>(extents.row, extents.column, turn++);
    memory_data<Case> const data(n, random);
    auto const size = coordinate{data.rows(), data.columns()}.along(Case::along);
    if (std::is_same_v<typename Case::edge, tylo::whole_vectors> && size % Case::vector != 0) continue;
    SCOPED_TRACE(std::to_string(data.rows()) + " x " + std::to_string(data.columns()) + " from (" +
                 std::to_string(n.row) + ", " + std::to_string(n.column) + ")");
    check_memory_of(on, data);
    if (testing::Test::HasFatalFailure()) return;
  }
}

} // namespace mk::test
