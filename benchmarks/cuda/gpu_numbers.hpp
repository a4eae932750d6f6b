#pragma once

#include <megakernels/ops/tensor.hpp>
#include <megakernels/runtime/cuda/internal/memory.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace mk::bench {

/// int32 [rows, columns] in GPU memory, zero at first: bound to submissions, it is copied nowhere. Made before a kernel
/// is resident, since memory cannot be allocated beside one.
class gpu_numbers {
public:
  gpu_numbers(std::int64_t rows, std::int64_t columns);

  [[nodiscard]] tensor_view view() const;
  [[nodiscard]] std::vector<std::int32_t> fetch() const;

private:
  tensor_desc shape_;
  std::shared_ptr<std::byte> memory_;
};

} // namespace mk::bench
