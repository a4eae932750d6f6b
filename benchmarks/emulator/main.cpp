// mk-bench-emulator: the emulator in figures.

#include "emulator/benchmarks.hpp"
#include "kit/suite.hpp"

int main(int argc, char** argv) {
  using namespace mk::bench;
  return run_suite(argc, argv, "Measures the emulator.", cpu_name(),
                   {{"emulator/fiber_switch", fiber_switch},
                    {"emulator/mma_sync", [] { return mma_sync(false, true); }},
                    {"emulator/mma_sync/no_races", [] { return mma_sync(false, false); }},
                    {"emulator/mma_sync/batched", [] { return mma_sync(true, true); }},
                    {"emulator/mma_sync/batched/no_races", [] { return mma_sync(true, false); }},
                    {"emulator/multiply_adds", [] { return multiply_adds(true); }},
                    {"emulator/multiply_adds/no_races", [] { return multiply_adds(false); }}});
}
