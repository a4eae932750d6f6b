/// Many steps in one submission: tokens are drawn, fed back and counted on the GPU.

#include <megakernels/kernels/llama.hpp>

#include "../models/golden_logits.hpp"
#include "../models/llama_runner.hpp"
#include "kit.hpp"

namespace mk::test {
namespace {

using cuda_repeat = gpu_test;

constexpr std::int64_t runs = 20;

/// A prompt, then `runs` tokens in one submission.
std::vector<std::int32_t> continue_prompt(llama_runner& r, std::span<std::int32_t const> prompt,
                                          llama::sampling const& how, std::int64_t workers) {
  auto const prefill = r.add(llama::single_sequence(64, 64), workers);
  auto const decode = r.add(llama::single_sequence(1, 64), workers);
  llama::batch first(prefill.serves);
  first.add(0, prompt, 0, 1, how);
  auto const token = r.run(prefill, first).next.at(0);

  auto const past = static_cast<std::int64_t>(prompt.size());
  llama::batch b(decode.serves);
  b.add(0, std::span(&token, 1), past, 1, how);
  tensor tokens(data_type::int32, {runs, 1}), positions(data_type::int32, {runs, 1});
  r.run(decode,
        b.to_step()
            .repeat(runs)
            .carry("next_token", "token")
            .advance("position", 1)
            .advance("length", 1)
            .advance("counter", 1)
            .keep("token", tokens.view())
            .keep("position", positions.view()),
        1);
  for (std::int64_t i = 0; i < runs; ++i)
    EXPECT_EQ(positions.span<std::int32_t>()[static_cast<std::size_t>(i)], past + i + 1);
  auto const all = tokens.span<std::int32_t>();
  return {all.begin(), all.end()};
}

TEST_F(cuda_repeat, draws_the_tokens_that_the_host_draws) {
  auto const prompt = read_golden_text("tiny_llama.json").tokens;
  llama_runner host(golden_path("tiny_llama.gguf"), data_type::bf16);
  llama_runner on_gpu(golden_path("tiny_llama.gguf"), data_type::bf16, cuda_device{.kernel = &kernels::llama()});
  auto const start = std::span(prompt).first(9);
  auto const greedy = continue_prompt(host, start, {}, 2);
  EXPECT_EQ(continue_prompt(on_gpu, start, {}, 0), greedy);
  llama::sampling const drawn{.temperature = 1.5f, .top_k = 40, .top_p = 0.95f, .seed = 5};
  auto const random = continue_prompt(host, start, drawn, 2);
  EXPECT_NE(random, greedy);
  EXPECT_EQ(continue_prompt(on_gpu, start, drawn, 7), random);
  EXPECT_EQ(on_gpu.session().status().kernel_starts, 1u) << "programs were loaded beside the resident kernel";
}

} // namespace
} // namespace mk::test
