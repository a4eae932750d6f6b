#pragma once

/// The kernels of tests/emulator/fragment_kernels.hpp on a GPU.

#include "../emulator/fragment_kernels.hpp"

#include <cuda_runtime_api.h>

namespace mk::test {

/// Starts a case with its arguments.
using start_function = cudaError_t (*)(void const* arguments);

/// Those of a list of cases, in its order.
template <class List> start_function const* starts_of();
template <> start_function const* starts_of<map_cases>();
template <> start_function const* starts_of<exchange_cases>();
template <> start_function const* starts_of<worked_cases>();
template <> start_function const* starts_of<warp_reductions>();
template <> start_function const* starts_of<typed_reductions>();
template <> start_function const* starts_of<cta_reductions>();
template <> start_function const* starts_of<softmax_cases>();
template <> start_function const* starts_of<merge_cases>();

#if defined(__CUDACC__)

namespace detail {

template <class Case>
__global__ void __launch_bounds__(Case::threads) case_kernel(typename Case::arguments const arguments) {
  Case::run(arguments);
}

template <class Case> cudaError_t start_case(void const* arguments) {
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {Case::cluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(Case::ctas);
  config.blockDim = dim3(Case::threads);
  config.dynamicSmemBytes = Case::shared_bytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, case_kernel<Case>, *static_cast<typename Case::arguments const*>(arguments));
}

template <class... Cases> start_function const* starts_of_cases(case_list<Cases...>) {
  static constexpr start_function starts[] = {start_case<Cases>...};
  return starts;
}

} // namespace detail

#endif

} // namespace mk::test
