/// One warp writes shared memory and arrives at an mbarrier; another waits for it, reads, and gives the memory back by
/// a second mbarrier. Ordered by the PTX memory model: an arrive releases, a try_wait that succeeds acquires.

#include "probe.hpp"

using namespace mk::test;

namespace {

/// `Arrivals` is 32, every lane for itself, or 1: lane 0 after __syncwarp, which orders the lanes' writes before it.
template <unsigned Arrivals> TYLO_FN void arrive_warp(tylo::mbarrier* b) {
  if (Arrivals == 1) tylo::sync_warp();
  if (tylo::lane_rank() < Arrivals) tylo::arrive(b);
}

template <unsigned Arrivals> __global__ void hand_over(unsigned* arrived) {
  auto* const slot = reinterpret_cast<unsigned*>(tylo::shared_memory());
  auto* const full = reinterpret_cast<tylo::mbarrier*>(slot + numbers);
  auto* const empty = full + 1;
  auto const lane = tylo::lane_rank();
  if (tylo::thread_rank() == 0) {
    tylo::init(full, Arrivals);
    tylo::init(empty, Arrivals);
    tylo::publish_barriers();
  }
  tylo::sync_cta();
  bool const writer = tylo::thread_rank() < tylo::warp_size;
  for (unsigned round = 0; round < rounds; ++round)
    if (writer) {
      tylo::wait(empty, (round & 1) ^ 1);
      slot[lane] = number_of(round, lane);
      arrive_warp<Arrivals>(full);
    } else {
      tylo::wait(full, round & 1);
      arrived[round * numbers + (lane ^ 1)] = slot[lane ^ 1]; // what another lane wrote
      arrive_warp<Arrivals>(empty);
    }
}

template <unsigned Arrivals> void start(unsigned*, unsigned* arrived) {
  hand_over<Arrivals><<<1, 2 * tylo::warp_size, shared_bytes>>>(arrived);
}

} // namespace

int main() {
  return wrong_numbers("every lane arrives", start<tylo::warp_size>) + wrong_numbers("one lane arrives", start<1>);
}
