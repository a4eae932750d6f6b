#include <megakernels/tylo/lane/cluster.hpp>
#include <megakernels/tylo/lane/copy.hpp>

#include "deadline.hpp"
#include "pairs.hpp"

namespace mk::test {
namespace {

/// Each neighbour's word of this launch; the last bytes of shared memory, so that all of it is there.
TYLO_FN void exchange(pair_arguments const& a, std::uint32_t round) {
  auto const cta = tylo::cta_rank(), rank = tylo::cluster_rank(), size = tylo::cluster_size();
  auto* const mine = reinterpret_cast<std::uint32_t*>(tylo::shared_memory() + pair_shared_bytes) - 1;
  auto const word_of = [&](unsigned of) { return round * 1000 + of; };
  if (tylo::thread_rank() == 0) {
    if (size != a.cluster || rank != cta % size) tylo::add_release(&a.state->misplaced, 1u);
    *mine = word_of(cta);
  }
  tylo::sync_cluster();
  if (tylo::thread_rank() == 0) {
    auto const other = (rank + 1) % size;
    if (*tylo::peer_address(mine, other) != word_of(cta - rank + other)) tylo::add_release(&a.state->wrong, 1u);
  }
  tylo::sync_cluster();
}

__global__ void __launch_bounds__(pair_threads, 1) pair_kernel_body(pair_arguments const a) {
  auto* const shared_round = reinterpret_cast<std::uint32_t*>(tylo::shared_memory());
  if (tylo::thread_rank() == 0) {
    auto const ctas = tylo::cta_count();
    auto const round = tylo::add_acquire_release(&a.state->arrived, 1u) / ctas;
    auto const all = (round + 1) * ctas;
    if (!happens_in_time([&] { return tylo::load_acquire(&a.state->arrived) >= all; }))
      tylo::add_release(&a.state->late, 1u);
    a.multiprocessors[tylo::cta_rank()] = tylo::multiprocessor_rank();
    *shared_round = round;
  }
  tylo::sync_cta();
  exchange(a, *shared_round);
}

} // namespace

void const* pair_kernel() { return reinterpret_cast<void const*>(&pair_kernel_body); }

} // namespace mk::test
