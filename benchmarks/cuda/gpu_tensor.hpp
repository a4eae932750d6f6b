#pragma once

#include <megakernels/ops/tensor.hpp>
#include <megakernels/runtime/cuda/internal/memory.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mk::bench {

/// A dense tensor [rows, columns] in GPU memory, zero at first: bound to submissions, it is copied nowhere. Made before
/// a kernel is resident, since memory cannot be allocated beside one.
class gpu_tensor {
public:
  gpu_tensor(data_type type, std::int64_t rows, std::int64_t columns);

  [[nodiscard]] tensor_view view() const;
  [[nodiscard]] std::uint64_t size_bytes() const;
  void set(std::span<std::byte const>);
  [[nodiscard]] std::vector<std::byte> bytes() const;
  /// All elements, of a tensor of int32.
  [[nodiscard]] std::vector<std::int32_t> numbers() const;

private:
  tensor_desc shape_;
  std::shared_ptr<std::byte> memory_;
};

} // namespace mk::bench
