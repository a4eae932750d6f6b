/// Models on the GPU against the host and against golden logits.

#include <megakernels/kernels/llama.hpp>

#include "../models/golden_logits.hpp"
#include "../models/llama_runner.hpp"
#include "../models/model_path.hpp"
#include "kit.hpp"

#include <cmath>
#include <cstdio>

namespace mk::test {
namespace {

using cuda_llama = gpu_test;

constexpr std::array<std::size_t, 4> chunks{1, 2, 7, 64};

cuda_device gpu() { return {.kernel = &kernels::llama()}; }

/// Largest difference, and the root mean square of the numbers.
struct difference {
  double worst = 0;
  double scale = 0;
};

difference between(std::span<float const> a, std::span<float const> b) {
  difference d;
  for (std::size_t i = 0; i < a.size(); ++i) {
    d.worst = std::max(d.worst, std::abs(double(a[i]) - double(b[i])));
    d.scale += double(b[i]) * double(b[i]);
  }
  d.scale = std::sqrt(d.scale / static_cast<double>(std::max<std::size_t>(a.size(), 1)));
  return d;
}

/// Where the largest logit of a row is another one, the reference's two largest must lie within twice the error.
std::size_t expect_argmax_rule(std::span<float const> found, std::span<float const> reference, std::size_t vocabulary,
                               double error) {
  std::size_t changed = 0;
  for (std::size_t row = 0; row * vocabulary < found.size(); ++row) {
    auto const f = found.subspan(row * vocabulary, vocabulary);
    auto const r = reference.subspan(row * vocabulary, vocabulary);
    auto const mine = static_cast<std::size_t>(std::max_element(f.begin(), f.end()) - f.begin());
    auto const best = static_cast<std::size_t>(std::max_element(r.begin(), r.end()) - r.begin());
    if (mine == best) continue;
    ++changed;
    EXPECT_LT(double(r[best]) - double(r[mine]), 2 * error) << "row " << row;
  }
  return changed;
}

TEST_F(cuda_llama, tiny_models_agree_with_transformers_and_the_host_in_every_chunking) {
  for (std::string const name : {"tiny_llama", "tiny_llama_tied"}) {
    auto const text = read_golden_text(name + ".json");
    llama_runner host(golden_path(name + ".gguf"), data_type::fp32);
    llama_runner on_gpu(golden_path(name + ".gguf"), data_type::fp32, gpu());
    auto serves = llama::single_sequence(64, 64);
    serves.outputs = 64;
    serves.activations = serves.weights = data_type::fp32;
    auto const host_program = host.add(serves);
    auto const vocabulary = static_cast<std::size_t>(host.config().vocabulary);
    auto const expected = host.feed(host_program, 0, text.tokens, 64);
    std::vector<float> first;
    for (std::int64_t workers : {std::int64_t(1), std::int64_t(7), std::int64_t(multiprocessors())}) {
      auto const p = on_gpu.add(serves, workers);
      for (auto chunk : chunks) {
        auto const found = on_gpu.feed(p, 0, text.tokens, chunk);
        if (first.empty()) first = found;
        EXPECT_TRUE(same_bits(found, first)) << name << ", " << workers << " workers, chunks of " << chunk;
      }
    }
    auto const to_host = between(first, expected);
    auto const to_golden = between(first, text.logits);
    std::printf("%s: largest error %.3g against the host, %.3g against transformers; logits' rms %.3g\n", name.c_str(),
                to_host.worst, to_golden.worst, to_golden.scale);
    EXPECT_LE(to_host.worst, 1e-4 * to_host.scale) << name;
    EXPECT_LE(to_golden.worst, 1e-4 * to_golden.scale) << name;
    EXPECT_EQ(expect_argmax_rule(first, text.logits, vocabulary, to_golden.worst), 0u) << name;
  }
}

TEST_F(cuda_llama, smollm2_agrees_with_the_host) {
  MK_REQUIRE_MODEL();
  auto const golden = read_golden("smollm2.json");
  ASSERT_FALSE(golden.at("prompts").empty());
  for (auto const activations : {data_type::fp32, data_type::bf16}) {
    llama_runner host(model_path(), data_type::bf16);
    llama_runner on_gpu(model_path(), data_type::bf16, gpu());
    auto serves = llama::single_sequence(64, 256);
    serves.outputs = 64;
    serves.activations = activations;
    auto const host_program = host.add(serves, 0);
    auto const p = on_gpu.add(serves, 0);
    auto const vocabulary = static_cast<std::size_t>(host.config().vocabulary);
    for (auto const& prompt : golden.at("prompts")) {
      auto const name = prompt.at("name").get<std::string>();
      auto const tokens = prompt.at("tokens").get<std::vector<std::int32_t>>();
      auto const expected = host.feed(host_program, 0, tokens, 64);
      auto const found = on_gpu.feed(p, 0, tokens, 64);
      auto const d = between(found, expected);
      auto const changed = expect_argmax_rule(found, expected, vocabulary, d.worst);
      std::printf(
          "smollm2, %s activations, prompt '%s': largest error %.3g, logits' rms %.3g, %zu of %zu arg-max changed\n",
          std::string(name_of(activations)).c_str(), name.c_str(), d.worst, d.scale, changed, tokens.size());
      EXPECT_LE(d.worst, (activations == data_type::fp32 ? 1e-3 : 0.3) * d.scale) << name;
      EXPECT_TRUE(same_bits(on_gpu.feed(p, 0, tokens, 7), found)) << name << ": chunks of 7";
    }
  }
}

} // namespace
} // namespace mk::test
