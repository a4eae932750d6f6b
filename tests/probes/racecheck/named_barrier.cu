/// One warp writes shared memory, another reads it; between them bar.sync of a named barrier, in which two of the CTA's
/// three warps take part. Ordered by the PTX memory model: bar.sync orders the accesses of the threads that take part.

#include "probe.hpp"

using namespace mk::test;

namespace {

__global__ void hand_over(unsigned* arrived) {
  auto* const slot = reinterpret_cast<unsigned*>(tylo::shared_memory());
  auto const warp = tylo::thread_rank() / tylo::warp_size, lane = tylo::lane_rank();
  if (warp == 2) return;
  for (unsigned round = 0; round < rounds; ++round) {
    if (warp == 0) slot[lane] = number_of(round, lane);
    tylo::sync_named(1, 2 * tylo::warp_size);
    if (warp == 1) arrived[round * numbers + (lane ^ 1)] = slot[lane ^ 1]; // what another lane wrote
    tylo::sync_named(1, 2 * tylo::warp_size);
  }
}

void start(unsigned*, unsigned* arrived) { hand_over<<<1, 3 * tylo::warp_size, shared_bytes>>>(arrived); }

} // namespace

int main() { return wrong_numbers("named barrier", start); }
