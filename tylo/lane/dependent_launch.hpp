#pragma once

/// Kernels of one stream that overlap: one that was launched with programmatic stream serialization may start before
/// the kernel ahead of it has ended. In any other kernel these do nothing. CUDA programming guide, programmatic
/// dependent launch; PTX ISA: griddepcontrol.

#include <megakernels/tylo/target.hpp>

namespace tylo {

/// Lets the kernel behind this one start once every CTA has called it or has ended.
TYLO_FN inline void let_next_kernel_start() {
  TYLO_EITHER(cudaTriggerProgrammaticLaunchCompletion(), outside_kernel());
}

/// Waits until the kernel ahead has ended; all that it wrote is visible to the calling thread afterwards. The kernels
/// further ahead have ended too, as long as each of them waited.
TYLO_FN inline void await_kernel_ahead() { TYLO_EITHER(cudaGridDependencySynchronize(), outside_kernel()); }

} // namespace tylo
