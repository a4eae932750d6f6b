/// The control: one warp writes shared memory and another reads it with nothing between them. A tool that looks must
/// report this one; that the numbers are wrong is likely but not certain, so the program does not fail by them.

#include "probe.hpp"

using namespace mk::test;

namespace {

__global__ void hand_over(unsigned* arrived) {
  auto* const slot = reinterpret_cast<unsigned*>(tylo::shared_memory());
  auto const lane = tylo::lane_rank();
  bool const writer = tylo::thread_rank() < tylo::warp_size;
  for (unsigned round = 0; round < rounds; ++round)
    if (writer)
      slot[lane] = number_of(round, lane);
    else
      arrived[round * numbers + (lane ^ 1)] = slot[lane ^ 1];
}

void start(unsigned*, unsigned* arrived) { hand_over<<<1, 2 * tylo::warp_size, shared_bytes>>>(arrived); }

} // namespace

int main() {
  (void)wrong_numbers("no barrier", start);
  return 0;
}
