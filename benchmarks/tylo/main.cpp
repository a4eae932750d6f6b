// mk-bench-tylo: operations of tile primitives, in figures.

#include "cuda/gpu_facts.hpp"
#include "kit/suite.hpp"
#include "tylo/benchmarks.hpp"

int main(int argc, char** argv) {
  using namespace mk::bench;
  return run_suite(argc, argv, "Measures operations that are written with tile primitives, through the runtime.",
                   gpu_name(),
                   {
                       {"softmax/bf16/8192x1024", [] { return softmax_rows(8192, 1024); }},
                       {"softmax/bf16/8192x8192", [] { return softmax_rows(8192, 8192); }},
                       {"softmax/bf16/4096x32768", [] { return softmax_rows(4096, 32768); }},
                       {"rms_norm/bf16/8192x8192", [] { return rms_norm_rows(8192, 8192); }},
                   });
}
