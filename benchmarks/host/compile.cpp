#include <megakernels/ops/all.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/program/codec.hpp>

#include "host/benchmarks.hpp"
#include "kit/suite.hpp"
#include "kit/timing.hpp"
#include "models/llama/graph.hpp"

namespace mk::bench {
namespace {

llama::config make_shape() {
  llama::config c;
  c.layers = 32;
  c.hidden = 2048;
  c.heads = 32;
  c.kv_heads = 8;
  c.head_dim = 64;
  c.feed_forward = 8192;
  c.vocabulary = 128256;
  c.context = 131072;
  c.rotary_dim = 64;
  c.epsilon = 1e-5f;
  c.theta = 500000;
  c.tied = true;
  c.divisors = true;
  return c;
}

/// About one of the 132 processors of an H200.
constexpr machine device{.workers = 132, .bytes_per_second = 36e9, .operations_per_second = 7e12, .task_seconds = 1e-6};

} // namespace

figure compile_llama() {
  auto const shape = make_shape();
  auto const serves = llama::single_sequence(1, 8192);
  program made;
  std::uint64_t first_hash = 0;
  auto const seconds = time_runs(7, [&] {
    made = compile(*llama::make_graph(shape, serves), device, llama_operations);
    auto const hash = hash_of(encode(made));
    expect(first_hash == 0 || hash == first_hash, "host/compile: two programs of one graph differ");
    first_hash = hash;
  });
  std::vector<double> us;
  for (auto s : seconds) us.push_back(s * 1e6);
  return {.unit = "us",
          .measured = summarize(us),
          .verdict = "verified, and the same bytes in every run: " + std::to_string(made.nodes.size()) + " nodes, " +
                     std::to_string(made.records.size()) + " records"};
}

} // namespace mk::bench
