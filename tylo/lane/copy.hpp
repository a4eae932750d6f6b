#pragma once

/// Asynchronous copies from global to shared memory. PTX ISA: cp.async.bulk.

#include <megakernels/tylo/emulator/lane.hpp>
#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/target.hpp>

#include <cstddef>
#include <cstdint>

namespace tylo {

/// Alignment of both addresses and of the size, in bytes.
inline constexpr unsigned bulk_alignment = 16;

/// Starts a copy that one thread issues and that completes `bytes` on the barrier. The source must have been written
/// before the kernel, or be ordered by a proxy fence.
TYLO_FN inline void bulk_load(void* to_shared, void const* from_global, unsigned bytes, mbarrier* done) {
  TYLO_EITHER(cuda::ptx::cp_async_bulk(cuda::ptx::space_shared, cuda::ptx::space_global, to_shared, from_global, bytes,
                                       &done->word),
              outside_kernel(to_shared, from_global, bytes, done));
}

/// Start of the CTA's dynamic shared memory, at a multiple of 1024 bytes.
TYLO_FN inline std::byte* shared_memory() {
#if defined(__CUDA_ARCH__)
  extern __shared__ __align__(1024) unsigned char tylo_shared_memory[];
  return reinterpret_cast<std::byte*>(tylo_shared_memory);
#else
  return emulator::shared_memory();
#endif
}

} // namespace tylo
