#include "cuda/gpu_numbers.hpp"

namespace mk::bench {
namespace {

cuda::copier& copies() {
  static cuda::copier all;
  return all;
}

} // namespace

gpu_numbers::gpu_numbers(std::int64_t rows, std::int64_t columns)
    : shape_(dense(data_type::int32, extent{rows}, extent{columns})) {
  auto const bytes = static_cast<std::uint64_t>(rows * columns) * sizeof(std::int32_t);
  memory_ = copies().allocate(bytes);
  copies().zero(memory_.get(), bytes);
}

tensor_view gpu_numbers::view() const { return view_of(shape_, memory_.get(), nullptr); }

std::vector<std::int32_t> gpu_numbers::fetch() const {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(shape_.extents[0].capacity * shape_.extents[1].capacity));
  copies().to_host(reinterpret_cast<std::byte*>(numbers.data()), memory_.get(), numbers.size() * sizeof(std::int32_t));
  return numbers;
}

} // namespace mk::bench
