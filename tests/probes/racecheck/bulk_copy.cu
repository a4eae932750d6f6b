/// A bulk copy writes shared memory and completes on an mbarrier; a warp waits for it, reads, and gives the memory back
/// by a second mbarrier, after which the next copy overwrites it. Ordered by the PTX memory model: the completion of
/// the copy releases its writes, a try_wait that succeeds acquires them.

#include "probe.hpp"

using namespace mk::test;

namespace {

__global__ void hand_over(unsigned const* from, unsigned* arrived) {
  auto* const slot = reinterpret_cast<unsigned*>(tylo::shared_memory());
  auto* const full = reinterpret_cast<tylo::mbarrier*>(slot + numbers);
  auto* const empty = full + 1;
  auto const lane = tylo::lane_rank();
  if (tylo::thread_rank() == 0) {
    tylo::init(full, 1);
    tylo::init(empty, 1);
    tylo::publish_barriers();
  }
  tylo::sync_cta();
  bool const loader = tylo::thread_rank() < tylo::warp_size;
  if (loader && lane != 0) return;
  for (unsigned round = 0; round < rounds; ++round)
    if (loader) {
      tylo::wait(empty, (round & 1) ^ 1);
      tylo::arrive_expecting(full, numbers * sizeof *slot);
      tylo::bulk_load(slot, from + round * numbers, numbers * sizeof *slot, full);
    } else {
      tylo::wait(full, round & 1);
      arrived[round * numbers + lane] = slot[lane];
      tylo::sync_warp();
      if (lane == 0) tylo::arrive(empty);
    }
}

void start(unsigned* from, unsigned* arrived) { hand_over<<<1, 2 * tylo::warp_size, shared_bytes>>>(from, arrived); }

} // namespace

int main() { return wrong_numbers("bulk copy", start); }
