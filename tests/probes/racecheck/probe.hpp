#pragma once

/// What the programs of this folder share: a kernel hands numbers from one warp to another, and says what arrived.

#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/thread.hpp>

#include <cuda_runtime_api.h>

#include <cstdio>

namespace mk::test {

/// Hand-overs of one kernel, through the same memory.
inline constexpr unsigned rounds = 4;
/// Numbers of one hand-over, one a lane.
inline constexpr unsigned numbers = tylo::warp_size;
inline constexpr unsigned shared_bytes = 1024;

TYLO_FN inline unsigned number_of(unsigned round, unsigned lane) { return 1000 * round + lane; }

/// `start(numbers there, arrived)` launches a kernel that writes rounds x numbers to `arrived`; the first argument
/// holds what number_of gives. Returns how many are wrong or missing.
template <class Start> int wrong_numbers(char const* name, Start start) {
  constexpr unsigned count = rounds * numbers;
  unsigned here[count], *from = nullptr, *arrived = nullptr;
  for (unsigned i = 0; i < count; ++i) here[i] = number_of(i / numbers, i % numbers);
  if (cudaMalloc(&from, sizeof here) != cudaSuccess || cudaMalloc(&arrived, sizeof here) != cudaSuccess) return 1;
  (void)cudaMemcpy(from, here, sizeof here, cudaMemcpyHostToDevice);
  (void)cudaMemset(arrived, 0xFF, sizeof here);
  start(from, arrived);
  auto const result = cudaMemcpy(here, arrived, sizeof here, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (unsigned i = 0; i < count; ++i) wrong += here[i] != number_of(i / numbers, i % numbers);
  std::printf("%s: %s, %d of %u numbers wrong\n", name, cudaGetErrorName(result), wrong, count);
  (void)cudaFree(from);
  (void)cudaFree(arrived);
  return result == cudaSuccess ? wrong : 1;
}

} // namespace mk::test
