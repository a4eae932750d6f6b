#pragma once

/// Between ordinary accesses to memory and those of the copy engine and of warpgroup products, which are not ordered by
/// barriers alone. PTX ISA: fence.proxy.async, asynchronous operations.

#include <megakernels/tylo/emulator/lane.hpp>
#include <megakernels/tylo/site.hpp>
#include <megakernels/tylo/target.hpp>

#if defined(__CUDACC__)
#include <cuda/ptx>
#endif

namespace tylo {

/// What this thread wrote to shared memory, or read there, comes before copies and products that are started after it.
/// Where others start them, a barrier follows: each thread fences its own accesses, then all meet. Not needed for what
/// copies have written and an mbarrier has told of.
TYLO_FN inline void fence_async_proxy(site at = site::here()) {
  TYLO_EITHER(cuda::ptx::fence_proxy_async(cuda::ptx::space_shared), emulator::fence_async_proxy(false, at));
}

/// The same for global memory as well: it waits for more.
TYLO_FN inline void fence_async_proxy_everywhere(site at = site::here()) {
  TYLO_EITHER(cuda::ptx::fence_proxy_async(), emulator::fence_async_proxy(true, at));
}

} // namespace tylo
