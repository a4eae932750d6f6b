#include <megakernels/kernels/llama.hpp>
#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>

#include "cuda/benchmarks.hpp"
#include "cuda/node_graph_device.hpp"
#include "cuda/probes.hpp"
#include "cuda/random_weights.hpp"
#include "kit/suite.hpp"
#include "kit/timing.hpp"
#include "models/llama/compiling.hpp"
#include "models/llama/generator.hpp"
#include "models/llama/weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

namespace mk::bench {
namespace {

constexpr std::int64_t context = 2048;   // that programs are made for, as those of mk-generate
constexpr std::int64_t first_past = 144; // positions before the first timed step
constexpr std::int64_t timed_steps = 33; // the first is taken off: 145 to 176 positions before, 160.5 on average
constexpr std::size_t timed_runs = 20;

/// A model as all devices get it.
struct subject {
  llama::config config;
  std::function<void(session&, program const&)> give_weights;
  std::vector<std::int32_t> prompt;
};

/// What a device made of it.
struct decoded {
  std::vector<std::int32_t> tokens; ///< prompt and answer, all that were fed
  std::vector<float> logits;        ///< after the last of them
};

/// One sequence in a session; steps feed it.
class decoder {
public:
  decoder(device_choice const& device, subject const& what, llama::made_program const& made)
      : serves_(made.serves), session_(device, llama_operations),
        logits_(data_type::fp32, {1, what.config.vocabulary}) {
    what.give_weights(session_, made.bytes);
    id_ = session_.load(made.bytes);
  }

  /// Feeds `token` at position `past`, then each token that is drawn: so many steps in one submission. The tokens that
  /// were drawn.
  std::vector<std::int32_t> run(std::int32_t token, std::int64_t past, std::int64_t steps) {
    llama::batch b(serves_);
    b.add(0, std::span(&token, 1), past, 1);
    tensor next(data_type::int32, {1}), history(data_type::int32, {steps, 1});
    auto s = b.to_step();
    s.bind("logits", logits_.view()).bind("next_token", next.view());
    s.repeat(steps).carry("next_token", "token").keep("token", history.view());
    s.advance("position", 1).advance("length", 1).advance("counter", 1);
    session_.submit(id_, s).wait();
    auto const drawn = history.span<std::int32_t>();
    return {drawn.begin(), drawn.end()};
  }

  std::vector<float> logits() const {
    auto const all = logits_.span<float>();
    return {all.begin(), all.end()};
  }

private:
  llama::capacity serves_;
  session session_;
  program_id id_;
  tensor logits_;
};

/// The prompt, then answers up to the first timed step; then `timed(decoder)` for each run, all of which must end
/// alike.
template <class Timed> decoded decode(decoder& d, std::vector<std::int32_t> const& prompt, Timed&& timed) {
  decoded result{.tokens = prompt, .logits = {}};
  for (std::size_t i = 0; i + 1 < prompt.size(); ++i) (void)d.run(prompt[i], static_cast<std::int64_t>(i), 1);
  auto const fed = static_cast<std::int64_t>(prompt.size()) - 1;
  auto const answer = d.run(prompt.back(), fed, first_past - fed);
  result.tokens.insert(result.tokens.end(), answer.begin(), answer.end());
  auto const first = result.tokens.back();
  std::vector<std::int32_t> drawn;
  for (std::size_t run = 0; run < timed_runs + 2; ++run) {
    auto const now = timed(first, run >= 2);
    auto const logits = d.logits();
    expect(run == 0 || (now == drawn && logits == result.logits), "decode: two runs of the same steps differ");
    drawn = now;
    result.logits = logits;
  }
  result.tokens.insert(result.tokens.end(), drawn.begin(), drawn.end() - 1);
  return result;
}

/// Microseconds of a step from long and short submissions.
std::vector<double> per_step(std::vector<double> all, std::vector<double> const& one) {
  auto const short_one = summarize(one).median;
  for (auto& seconds : all) seconds = (seconds - short_one) * 1e6 / static_cast<double>(timed_steps - 1);
  return all;
}

decoded run_resident(subject const& what, llama::made_program const& made, std::vector<double>& us) {
  decoder d(cuda_device{.kernel = &kernels::llama()}, what, made);
  std::vector<double> all, one;
  auto result = decode(d, what.prompt, [&](std::int32_t token, bool counts) {
    stopwatch const watch_one;
    (void)d.run(token, first_past, 1);
    auto const one_seconds = watch_one.seconds();
    stopwatch const watch;
    auto drawn = d.run(token, first_past, timed_steps);
    if (counts) all.push_back(watch.seconds());
    if (counts) one.push_back(one_seconds);
    return drawn;
  });
  us = per_step(all, one);
  return result;
}

/// The same steps as a CUDA graph of a kernel for each node, between events.
decoded run_node_by_node(subject const& what, llama::made_program const& made, std::vector<double>& us) {
  std::vector<double> seconds;
  node_by_node const kernels(mk::kernels::llama(), llama_node_kernels(), seconds);
  decoder d(cuda_device{.kernel = &kernels}, what, made);
  std::vector<double> all, one;
  auto result = decode(d, what.prompt, [&](std::int32_t token, bool counts) {
    (void)d.run(token, first_past, 1);
    if (counts) one.push_back(seconds.back());
    auto drawn = d.run(token, first_past, timed_steps);
    if (counts) all.push_back(seconds.back());
    return drawn;
  });
  us = per_step(all, one);
  return result;
}

/// Largest difference of the logits from those of the host device for the same tokens, over the root of the mean square
/// of these.
double error_against_host(subject const& what, decoded const& found) {
  session s(host_device{}, llama_operations);
  auto made = llama::compile_model(what.config, llama::single_sequence(llama::prompt_chunk, context),
                                   llama::machine_for(host_device{}, 0));
  what.give_weights(s, made.bytes);
  auto const id = s.load(std::move(made.bytes));
  llama::generator g(s, {{.id = id, .serves = made.serves}}, what.config.vocabulary);
  (void)g.feed(found.tokens, {});
  double worst = 0, squares = 0;
  for (std::size_t i = 0; i < found.logits.size(); ++i) {
    auto const right = static_cast<double>(g.logits()[i]);
    worst = std::max(worst, std::abs(static_cast<double>(found.logits[i]) - right));
    squares += right * right;
  }
  return worst / std::sqrt(squares / static_cast<double>(found.logits.size()));
}

/// Bytes that a step reads: all constants, of an untied embedding table next to nothing, and the cache.
double step_bytes(program const& p, llama::config const& c) {
  double bytes = 0;
  for (auto const& b : p.buffers)
    if (b.kind == buffer_kind::constant && (c.tied || b.name != "token_embd.weight"))
      bytes += static_cast<double>(b.bytes);
  auto const positions = static_cast<double>(first_past) + 1 + static_cast<double>(timed_steps) / 2;
  return bytes + positions * static_cast<double>(c.layers * c.kv_heads * c.head_dim * 2 * 2);
}

figure decode(subject const& what) {
  auto const gbytes = stream_gbytes();
  auto const made = llama::compile_model(what.config, llama::single_sequence(1, context),
                                         llama::machine_for(cuda_device{.kernel = &kernels::llama()}, 0));
  std::vector<double> resident, node_by_node;
  auto const found = run_resident(what, made, resident);
  auto const baseline = run_node_by_node(what, made, node_by_node);
  expect(found.tokens == baseline.tokens, "decode: tokens differ from those of separate kernels");
  expect(found.logits == baseline.logits, "decode: logits differ from those of separate kernels");
  auto const error = error_against_host(what, found);
  expect(error < 0.5, "decode: logits are off the host's by " + std::to_string(error) + " of their root mean square");
  auto const nodes = summarize(node_by_node);
  char text[160];
  std::snprintf(
      text, sizeof text,
      "tokens and logits are the same bits in every run and as separate kernels; logits within %.2g rms of the "
      "host's",
      error);
  return {.unit = "us",
          .measured = summarize(resident),
          .limit = step_bytes(made.bytes, what.config) / gbytes / 1e3,
          .baselines = {{"own_graph_pdl", nodes.median}},
          .verdict = text};
}

} // namespace

figure decode_smollm2(std::string const& path) {
  gguf_file const file(path);
  return decode({.config = llama::read_config(file),
                 .give_weights = [&](session& s, program const&) { llama::load_weights(s, file, data_type::bf16); },
                 .prompt = {504, 33059, 418, 260, 1112, 282, 260, 28899, 761, 719, 3605, 327}});
}

figure decode_llama() {
  llama::config c;
  c.name = "random weights";
  c.layers = 16;
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
  named_tensors weights;
  return decode({.config = c,
                 .give_weights =
                     [&](session& s, program const& p) {
                       if (weights.empty()) weights = make_random_constants(p);
                       for (auto const& [name, value] : weights) s.set_constant(name, value);
                     },
                 .prompt = {1}});
}

} // namespace mk::bench
