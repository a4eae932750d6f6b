#include <megakernels/tylo/lane/async_proxy.hpp>
#include <megakernels/tylo/lane/copy.hpp>

#include "deadline.hpp"
#include "tensor_load.hpp"

namespace mk::test {
namespace {

constexpr unsigned threads = 128;

TYLO_FN void start_load(tensor_load_arguments const& a, std::byte* to, tylo::mbarrier* done) {
  tylo::acquire_tensor_map(a.map);
  tylo::arrive_expecting(done, a.box_bytes);
  if (a.rank == 2)
    tylo::tensor_load(to, a.map, {a.at[0], a.at[1]}, done);
  else
    tylo::tensor_load(to, a.map, {a.at[0], a.at[1], a.at[2]}, done);
}

__global__ void __launch_bounds__(threads) tensor_load_kernel(tensor_load_arguments const a) {
  auto* const tile = tylo::shared_memory();
  auto* const done = reinterpret_cast<tylo::mbarrier*>(tile + a.shared_bytes);
  auto const thread = tylo::thread_rank();
  if (thread == 0) {
    tylo::init(done, 1);
    tylo::publish_barriers();
  }
  for (unsigned round = 0; round < a.rounds; ++round) {
    for (auto i = thread; i < a.shared_bytes; i += threads) tile[i] = std::byte{untouched};
    tylo::fence_async_proxy();
    tylo::sync_cta();
    if (thread == 0) {
      bool const begun = happens_in_time([&] { return tylo::load_acquire_system(a.begin) >= round; });
      if (begun) start_load(a, tile, done);
      if (!begun || !wait_in_time(done, round & 1)) *a.late = 1;
    }
    tylo::sync_cta();
    // Nobody has waited but thread 0: what the barrier orders comes to the others by sync_cta.
    for (auto i = thread; i < a.shared_bytes; i += threads) a.shown[round * a.shared_bytes + i] = tile[i];
    tylo::sync_cta();
    if (thread == 0) tylo::store_release_system(a.ended, round + 1);
  }
}

} // namespace

cudaError_t start_tensor_load(tensor_load_arguments const& a, cudaStream_t stream) {
  auto const shared = a.shared_bytes + sizeof(tylo::mbarrier);
  auto const allowed = cudaFuncSetAttribute(reinterpret_cast<void const*>(&tensor_load_kernel),
                                            cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  if (allowed != cudaSuccess) return allowed;
  tensor_load_kernel<<<1, threads, shared, stream>>>(a);
  return cudaGetLastError();
}

} // namespace mk::test
