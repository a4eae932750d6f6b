#include "cuda/gpu_tensor.hpp"

#include "kit/suite.hpp"

#include <cstring>

namespace mk::bench {
namespace {

cuda::copier& copies() {
  static cuda::copier all;
  return all;
}

} // namespace

gpu_tensor::gpu_tensor(data_type type, std::int64_t rows, std::int64_t columns)
    : shape_(dense(type, extent{rows}, extent{columns})) {
  memory_ = copies().allocate(size_bytes());
  copies().zero(memory_.get(), size_bytes());
}

tensor_view gpu_tensor::view() const { return view_of(shape_, memory_.get(), nullptr); }

std::uint64_t gpu_tensor::size_bytes() const {
  return static_cast<std::uint64_t>(shape_.extents[0].capacity * shape_.extents[1].capacity * bytes_of(shape_.type));
}

void gpu_tensor::set(std::span<std::byte const> bytes) {
  expect(bytes.size() == size_bytes(), "a tensor in GPU memory is given another number of bytes than it has");
  copies().to_device(memory_.get(), bytes.data(), bytes.size());
}

std::vector<std::byte> gpu_tensor::bytes() const {
  std::vector<std::byte> bytes(size_bytes());
  copies().to_host(bytes.data(), memory_.get(), bytes.size());
  return bytes;
}

std::vector<std::int32_t> gpu_tensor::numbers() const {
  auto const raw = bytes();
  std::vector<std::int32_t> numbers(raw.size() / sizeof(std::int32_t));
  std::memcpy(numbers.data(), raw.data(), raw.size());
  return numbers;
}

} // namespace mk::bench
