// mk-bench-host: the host device in figures.

#include "host/benchmarks.hpp"
#include "kit/suite.hpp"

int main(int argc, char** argv) {
  using namespace mk::bench;
  return run_suite(argc, argv, "Measures the host device.", cpu_name(),
                   {{"host/stream", stream},
                    {"host/decode/smollm2-135m/b1", [] { return decode_smollm2(1); }},
                    {"host/decode/smollm2-135m/b8", [] { return decode_smollm2(8); }},
                    {"host/load/smollm2-135m", load_smollm2},
                    {"host/compile/llama-32-layers/b1/w132", compile_llama},
                    {"host/task/empty", task_empty},
                    {"host/submit_to_done/empty", submit_to_done_empty}});
}
