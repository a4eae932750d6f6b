#pragma once

/// Descriptors of a program as the copy engine reads them: a table in GPU memory.

#include <megakernels/runtime/cuda/internal/memory.hpp>
#include <megakernels/scheduler/program/program.hpp>
#include <megakernels/tylo/lane/tensor_copy.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace mk::cuda {

/// A verified descriptor whose buffer lies at `buffer` in GPU memory, a multiple of 16 bytes. Throws device_error where
/// the driver cannot encode it, or is older than CUDA 12.
tylo::tensor_map encode(descriptor const&, std::byte* buffer);

class descriptor_table {
public:
  /// Encodes and uploads all descriptors; `addresses` are those of the program's buffers.
  descriptor_table(program const&, std::span<std::byte* const> addresses, std::shared_ptr<memory_pool> const&, copier&);

  /// In GPU memory: entry i is descriptor i. A kernel acquires an entry (tylo::acquire_tensor_map) before it uses it.
  [[nodiscard]] tylo::tensor_map const* address() const noexcept {
    return reinterpret_cast<tylo::tensor_map const*>(memory_.get());
  }

private:
  std::shared_ptr<std::byte> memory_;
};

} // namespace mk::cuda
