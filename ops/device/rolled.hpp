#pragma once

/// MK_ROLLED before a loop: the compiler for the GPU does not unroll it. The code of all handlers of a kernel lies in
/// one function, whose size is a budget.

#if defined(__CUDA_ARCH__)
#define MK_ROLLED _Pragma("unroll 1")
#else
#define MK_ROLLED
#endif
