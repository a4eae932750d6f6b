#pragma once

/// Marks a function that is compiled for the host and, under nvcc, for the GPU as well.

#if defined(__CUDACC__)
#define TYLO_FN __host__ __device__
#else
#define TYLO_FN
#endif
