#pragma once

/// Small helpers on views: sizes, dense strides, and copies between strides.

#include <megakernels/ops/tensor.hpp>

#include <cstdint>

namespace mk::detail {

/// Number of elements; 0 for an absent view.
std::int64_t elements_of(tensor_view const&);

/// Bytes from the first to one past the last element; 0 without elements.
std::uint64_t span_bytes_of(tensor_view const&);

/// Gives the view the strides of a dense row-major tensor of its extents.
void set_dense_strides(tensor_view&);

/// Copies all elements of `from` into `to`, which has the same extents and type and does not overlap it.
void copy_elements(tensor_view const& from, tensor_view const& to);

} // namespace mk::detail
