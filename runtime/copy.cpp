#include <megakernels/runtime/internal/copy.hpp>

#include <cstring>

namespace mk::detail {

std::int64_t elements_of(tensor_view const& view) {
  if (!view.present()) return 0;
  std::int64_t product = 1;
  for (int axis = 0; axis < view.rank; ++axis) product *= view.extent(axis);
  return product;
}

std::uint64_t span_bytes_of(tensor_view const& view) {
  if (elements_of(view) == 0) return 0;
  std::int64_t last = 0;
  for (int axis = 0; axis < view.rank; ++axis) last += (view.extent(axis) - 1) * view.stride(axis);
  return static_cast<std::uint64_t>((last + 1) * tylo::bytes_of(view.type));
}

void set_dense_strides(tensor_view& view) {
  std::int64_t stride = 1;
  for (auto axis = static_cast<std::size_t>(view.rank); axis-- > 0;) {
    view.strides[axis] = stride;
    stride *= view.extents[axis] > 0 ? view.extents[axis] : 1;
  }
}

void copy_elements(tensor_view const& from, tensor_view const& to) {
  if (elements_of(from) == 0) return;
  auto const bytes = static_cast<std::size_t>(tylo::bytes_of(from.type));
  // Axes that are not there have one element: four loops serve every rank.
  std::array<std::int64_t, max_rank> lengths{1, 1, 1, 1};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(from.rank); ++axis) lengths[axis] = from.extents[axis];
  auto const inner = static_cast<std::size_t>(from.rank > 0 ? from.rank - 1 : 0);
  bool const runs = from.rank > 0 && from.strides[inner] == 1 && to.strides[inner] == 1;
  auto const run = runs ? static_cast<std::size_t>(lengths[inner]) : 1;
  if (runs) lengths[inner] = 1;
  for (std::int64_t i = 0; i < lengths[0]; ++i)
    for (std::int64_t j = 0; j < lengths[1]; ++j)
      for (std::int64_t k = 0; k < lengths[2]; ++k)
        for (std::int64_t l = 0; l < lengths[3]; ++l) std::memcpy(to.at(i, j, k, l), from.at(i, j, k, l), run * bytes);
}

} // namespace mk::detail
