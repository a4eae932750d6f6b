#pragma once

/// Host and device, told apart.

#include <cstdlib>

/// Marks a function that is compiled for the host and, under nvcc, for the GPU as well.
#if defined(__CUDACC__)
#define TYLO_FN __host__ __device__
#else
#define TYLO_FN
#endif

/// One of two pieces of code: what the GPU executes, or what it means on a CPU.
#if defined(__CUDA_ARCH__)
#define TYLO_EITHER(device, host) device
#else
#define TYLO_EITHER(device, host) host
#endif

/// Before a loop over slots of a fragment: on the GPU each slot is a register, and loops over them have no counter.
#if defined(__CUDA_ARCH__)
#define TYLO_UNROLL _Pragma("unroll")
#else
#define TYLO_UNROLL
#endif

namespace tylo {

/// The meaning on a CPU of what only the threads of a kernel can do: outside of one it must not be called. Takes what
/// the device takes.
template <class... Arguments> [[noreturn]] TYLO_FN void outside_kernel(Arguments const&...) {
  TYLO_EITHER(__trap(), std::abort());
}

} // namespace tylo
