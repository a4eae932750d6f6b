#include <megakernels/runtime/internal/memory.hpp>
#include <megakernels/runtime/tensor.hpp>

#include <string>
#include <utility>

namespace mk {
namespace {

/// The dense shape, without an address.
tensor_view checked_shape(data_type type, std::span<std::int64_t const> extents) {
  if (!tylo::is_known(type))
    throw error("tensor: " + std::to_string(static_cast<std::int32_t>(type)) + " is not the number of a data type");
  if (extents.size() > max_rank)
    throw error("tensor: " + std::to_string(extents.size()) + " axes, at most " + std::to_string(max_rank));
  tensor_view shape{
      .data = nullptr, .type = type, .rank = static_cast<std::int32_t>(extents.size()), .extents = {}, .strides = {}};
  std::int64_t stride = 1;
  for (auto axis = extents.size(); axis-- > 0;) {
    auto const length = extents[axis];
    if (length < 0) throw error("tensor: axis " + std::to_string(axis) + " is " + std::to_string(length) + " long");
    shape.extents[axis] = length;
    shape.strides[axis] = stride;
    if (length > 1 && stride > ((std::int64_t(1) << 62) / tylo::bytes_of(type)) / length)
      throw error("tensor: more than 2^62 bytes from axis " + std::to_string(axis) + " on");
    stride *= length > 0 ? length : 1;
  }
  return shape;
}

} // namespace

tensor::tensor(data_type type, std::span<std::int64_t const> extents) : shape_(checked_shape(type, extents)) {
  auto const memory = detail::zeroed_memory(size_bytes());
  shape_.data = memory.get();
  owner_ = memory;
}

tensor tensor::over(std::shared_ptr<void const> owner, std::span<std::byte const> bytes, data_type type,
                    std::span<std::int64_t const> extents) {
  tensor result;
  result.shape_ = checked_shape(type, extents);
  if (bytes.size() != result.size_bytes())
    throw error("tensor: " + std::to_string(bytes.size()) + " bytes for a tensor of " +
                std::to_string(result.size_bytes()));
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % static_cast<std::uintptr_t>(tylo::bytes_of(type)) != 0)
    throw error("tensor: memory is not aligned to elements of " + std::string(name_of(type)));
  // A view has no read-only form; `read_only_` guards the address from here on.
  result.shape_.data = const_cast<std::byte*>(bytes.data());
  result.owner_ = std::move(owner);
  result.read_only_ = true;
  return result;
}

tensor::tensor(tensor&& other) noexcept
    : owner_(std::move(other.owner_)), shape_(std::exchange(other.shape_, {})),
      read_only_(std::exchange(other.read_only_, false)) {}

tensor& tensor::operator=(tensor&& other) noexcept {
  owner_ = std::move(other.owner_);
  shape_ = std::exchange(other.shape_, {});
  read_only_ = std::exchange(other.read_only_, false);
  return *this;
}

std::span<std::int64_t const> tensor::extents() const noexcept {
  return std::span(shape_.extents).first(static_cast<std::size_t>(shape_.rank < 0 ? 0 : shape_.rank));
}

std::int64_t tensor::size() const noexcept {
  if (!shape_.present()) return 0;
  std::int64_t product = 1;
  for (auto length : extents()) product *= length;
  return product;
}

std::uint64_t tensor::size_bytes() const noexcept {
  return static_cast<std::uint64_t>(size() * tylo::bytes_of(shape_.type));
}

std::byte* tensor::data() {
  if (read_only_) throw error("tensor: asked for writing, but its memory is read-only");
  return shape_.data;
}

void tensor::expect(data_type asked) const {
  if (asked == shape_.type) return;
  throw error("tensor: elements are " + std::string(name_of(shape_.type)) + ", asked for " +
              std::string(name_of(asked)));
}

} // namespace mk
