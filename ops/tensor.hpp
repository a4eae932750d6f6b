#pragma once

/// Tensors as operations see them: a description (shape, no address) and a view (address, live shape).

#include <megakernels/tylo/data_type.hpp>
#include <megakernels/tylo/target.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace mk {

using tylo::data_type;

/// Most axes that a tensor may have.
inline constexpr std::int32_t max_rank = 4;

/// Length of one axis. A fixed axis has `live == -1` and always `capacity` elements; a live axis names one of the
/// program's live axes, whose length each submission states, from 0 to `capacity`.
struct extent {
  std::int64_t capacity = 1;
  std::int32_t live = -1;
  std::int32_t reserved = 0;

  TYLO_FN constexpr bool is_live() const { return live >= 0; }
  friend constexpr bool operator==(extent const&, extent const&) = default;
};

/// Shape, element type and strides (in elements, never negative) of a tensor. Axis 0 is the outermost.
/// Part of the program format: plain bytes without padding.
struct tensor_desc {
  data_type type = data_type::fp32;
  std::int32_t rank = 0;
  std::array<extent, max_rank> extents{};
  std::array<std::int64_t, max_rank> strides{};

  friend constexpr bool operator==(tensor_desc const&, tensor_desc const&) = default;
};

/// Gives `desc` the strides of a dense row-major tensor of its capacities.
constexpr void set_dense_strides(tensor_desc& desc) {
  std::int64_t stride = 1;
  for (std::int32_t i = desc.rank - 1; i >= 0; --i) {
    auto const axis = static_cast<std::size_t>(i);
    desc.strides[axis] = stride;
    stride *= desc.extents[axis].capacity > 0 ? desc.extents[axis].capacity : 1;
  }
}

/// A dense row-major description with the given extents.
template <class... Extents> constexpr tensor_desc dense(data_type type, Extents... extents) {
  tensor_desc result{.type = type, .rank = sizeof...(Extents), .extents = {extent(extents)...}, .strides = {}};
  set_dense_strides(result);
  return result;
}

/// Memory with a shape: what a running task works on. `extents` are the live ones. An absent optional operand has
/// `data == nullptr` and rank -1. A present operand of zero elements may have a null address too.
struct tensor_view {
  std::byte* data = nullptr;
  data_type type = data_type::fp32;
  std::int32_t rank = -1;
  std::array<std::int64_t, max_rank> extents{};
  std::array<std::int64_t, max_rank> strides{};

  TYLO_FN constexpr bool present() const { return rank >= 0; }
  TYLO_FN constexpr std::int64_t extent(int axis) const { return extents[static_cast<std::size_t>(axis)]; }
  TYLO_FN constexpr std::int64_t stride(int axis) const { return strides[static_cast<std::size_t>(axis)]; }

  /// Address of the element at the given coordinates (64-bit arithmetic throughout).
  template <class... Index> TYLO_FN std::byte* at(Index... index) const {
    std::int64_t offset = 0;
    int axis = 0;
    ((offset += static_cast<std::int64_t>(index) * stride(axis++)), ...);
    return data + offset * tylo::bytes_of(type);
  }
};

/// The view of `desc` at `data`, with live axes given their length from `live` (indexed by the live axis).
TYLO_FN inline tensor_view view_of(tensor_desc const& desc, std::byte* data, std::int64_t const* live) {
  tensor_view view{.data = data, .type = desc.type, .rank = desc.rank, .extents = {}, .strides = desc.strides};
  for (std::int32_t i = 0; i < desc.rank; ++i) {
    auto const axis = static_cast<std::size_t>(i);
    auto const& e = desc.extents[axis];
    view.extents[axis] = e.is_live() ? live[e.live] : e.capacity;
  }
  return view;
}

} // namespace mk
