// Kernels with what the machine code gate must refuse: a test looks that it does. Nothing runs them.

__global__ void non_coherent_load(float const* in, float* out) { out[threadIdx.x] = __ldg(in + threadIdx.x); }

__global__ void restrict_pointer(float const* __restrict__ in, float* __restrict__ out) {
  out[threadIdx.x] = in[threadIdx.x];
}

__global__ void floating_point_atomic(float* sum, float const* in) { atomicAdd(sum, in[threadIdx.x]); }

__global__ void array_in_local_memory(float* out, int count) {
  float values[32];
  for (int i = 0; i < count; ++i) values[(i * 7) % 32] = out[i];
  out[threadIdx.x] = values[threadIdx.x % 32];
}

__global__ void sound(float const* in, float* out) { out[threadIdx.x] = 2 * in[threadIdx.x]; }
