/// Tiny models on an emulated GPU: teacher-forced logits and generated tokens.

#include <megakernels/kernels/llama.hpp>

#include "../models/golden_logits.hpp"
#include "../models/llama_runner.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

namespace mk::test {
namespace {

TEST(emulator_llama, a_tiny_model_agrees_with_transformers_in_every_chunking) {
  auto const text = read_golden_text("tiny_llama.json");
  emulator_device d{.kernel = &kernels::llama(), .workers = 2};
  d.how.batched = true;
  auto serves = llama::single_sequence(16, 64);
  serves.outputs = 16;
  serves.activations = serves.weights = data_type::fp32;
  std::vector<float> first;
  for (std::size_t const chunk : {16u, 5u}) {
    d.how.seed = chunk;
    llama_runner runner(golden_path("tiny_llama.gguf"), data_type::fp32, d);
    auto const found = runner.feed(runner.add(serves, 2), 0, std::span(text.tokens).first(16), chunk);
    if (first.empty()) first = found;
    EXPECT_TRUE(same_bits(found, first)) << "chunks of " << chunk;
  }
  double worst = 0, square = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    worst = std::max(worst, std::abs(double(first[i]) - double(text.logits[i])));
    square += double(text.logits[i]) * double(text.logits[i]);
  }
  auto const scale = std::sqrt(square / static_cast<double>(first.size()));
  std::printf("largest error %.3g against transformers, logits' rms %.3g\n", worst, scale);
  EXPECT_LE(worst, 1e-4 * scale);
}

} // namespace
} // namespace mk::test
