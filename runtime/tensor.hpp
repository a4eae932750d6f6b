#pragma once

/// Memory of the host with a shape: what constants are given in and what callers bind.

#include <megakernels/ops/error.hpp>
#include <megakernels/ops/tensor.hpp>
#include <megakernels/tylo/numbers.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>

namespace mk {

/// A dense row-major tensor: owner of its memory, which is zero at first and lies at a multiple of 64 bytes. Moves, and
/// is never copied by accident. Every axis has a fixed length; a length of 0 is legal.
class tensor {
public:
  /// No axes and no memory; `view()` is an absent one.
  tensor() = default;
  tensor(tensor&& other) noexcept;
  tensor& operator=(tensor&& other) noexcept;
  ~tensor() = default;

  /// Throws `mk::error` for an unknown type, more than `max_rank` axes, a negative length or a size beyond 2^62 bytes,
  /// and std::bad_alloc. Large tensors get their pages when they are first touched.
  tensor(data_type type, std::span<std::int64_t const> extents);
  tensor(data_type type, std::initializer_list<std::int64_t> extents)
      : tensor(type, std::span<std::int64_t const>(extents.begin(), extents.size())) {}

  /// A read-only tensor over memory that `owner` keeps alive, for instance a mapped file. `bytes` must be exactly the
  /// size of the tensor and aligned to its elements; throws `mk::error` otherwise, and as the constructor does.
  static tensor over(std::shared_ptr<void const> owner, std::span<std::byte const> bytes, data_type type,
                     std::span<std::int64_t const> extents);

  [[nodiscard]] data_type type() const noexcept { return shape_.type; }
  [[nodiscard]] std::int32_t rank() const noexcept { return shape_.rank; }
  /// Lengths of the axes, outermost first.
  [[nodiscard]] std::span<std::int64_t const> extents() const noexcept;
  [[nodiscard]] std::int64_t extent(int axis) const noexcept { return shape_.extent(axis); }
  /// Number of elements: 0 for a tensor without axes that was default-constructed.
  [[nodiscard]] std::int64_t size() const noexcept;
  [[nodiscard]] std::uint64_t size_bytes() const noexcept;
  [[nodiscard]] bool read_only() const noexcept { return read_only_; }

  [[nodiscard]] std::byte const* data() const noexcept { return shape_.data; }
  /// Throws `mk::error` where the tensor is read-only.
  [[nodiscard]] std::byte* data();

  /// The elements in order. T is the C++ type of the element type (`tylo::data_type_of`); throws `mk::error` naming
  /// both where it is another.
  template <class T> [[nodiscard]] std::span<T const> span() const {
    expect(tylo::data_type_of<T>);
    return {reinterpret_cast<T const*>(shape_.data), static_cast<std::size_t>(size())};
  }
  /// The same for writing; throws also where the tensor is read-only.
  template <class T> [[nodiscard]] std::span<T> span() {
    expect(tylo::data_type_of<T>);
    return {reinterpret_cast<T*>(data()), static_cast<std::size_t>(size())};
  }

  /// The tensor as operations and bindings see it; valid while the tensor lives, also after it has been moved. A view
  /// does not tell whether its memory is read-only: bind such a tensor as an input only.
  [[nodiscard]] tensor_view view() const noexcept { return shape_; }

private:
  void expect(data_type asked) const;

  std::shared_ptr<void const> owner_;
  tensor_view shape_;
  bool read_only_ = false;
};

} // namespace mk
