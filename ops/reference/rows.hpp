#pragma once

/// Rows of tensors for the references: whatever the element type and stride, a row becomes numbers of the
/// accumulating type, and back. And sums whose order does not depend on how work is divided.

#include <megakernels/ops/tensor.hpp>

#include <array>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

namespace mk::reference {

/// `count` elements from `from`, `stride` elements apart, as Accumulate. int32 and int8 become their value.
template <class Accumulate>
void load_row(data_type type, std::byte const* from, std::int64_t stride, std::span<Accumulate> to);

/// Stores numbers as elements of `type`, rounding once to nearest even (from double: first to fp32's neighbour that
/// keeps the final rounding right). Integers saturate.
template <class Accumulate>
void store_row(data_type type, std::byte* to, std::int64_t stride, std::span<Accumulate const> from);

/// Number of partial sums of every long sum: term i goes into partial sum i mod `partial_sums`, and these are joined
/// pairwise. The compiler vectorises this form, and the result has the same bits however rows and columns are
/// divided among workers and whatever vector width a machine has.
inline constexpr std::int64_t partial_sums = 32;

/// Joins partial sums pairwise: halves onto each other until one is left.
template <class Accumulate> Accumulate join(std::array<Accumulate, partial_sums>& partial) {
  for (std::size_t half = partial_sums / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) partial[i] += partial[i + half];
  return partial[0];
}

/// Sum over i of term(i), i from 0 to count.
template <class Accumulate, class Term> Accumulate sum(std::int64_t count, Term term) {
  std::array<Accumulate, partial_sums> partial{};
  std::int64_t i = 0;
  for (; i + partial_sums <= count; i += partial_sums)
    for (std::int64_t j = 0; j < partial_sums; ++j) partial[static_cast<std::size_t>(j)] += term(i + j);
  for (std::int64_t j = 0; i + j < count; ++j) partial[static_cast<std::size_t>(j)] += term(i + j);
  return join(partial);
}

namespace detail {

/// Memory that starts at a cache line, so that no vector lies across two.
template <class T> struct line_allocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  line_allocator() = default;
  template <class U> line_allocator(line_allocator<U> const&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), line)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, line); }
  friend bool operator==(line_allocator const&, line_allocator const&) { return true; }
};

} // namespace detail

/// Memory for rows while one task runs: a buffer of this thread that grows and is used again. Each `Slot` is a buffer
/// of its own, 64-byte aligned. The contents are unspecified.
template <class Accumulate, int Slot = 0> std::span<Accumulate> scratch(std::int64_t count) {
  thread_local std::vector<Accumulate, detail::line_allocator<Accumulate>> buffer;
  auto const size = static_cast<std::size_t>(count);
  if (buffer.size() < size) buffer.resize(size);
  return std::span<Accumulate>(buffer).first(size);
}

} // namespace mk::reference
