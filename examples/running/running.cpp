// A session at work: two programs that share a state, queued submissions, repeated steps, errors, a stuck program.

#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

namespace {

constexpr std::int64_t context = 32, heads = 2, head_dim = 16, width = heads * head_dim;

/// Attention of up to `rows` tokens of one sequence, with the input itself as query, key and value.
mk::program make_attention(std::int64_t rows) {
  mk::graph g("attention of " + std::to_string(rows));
  auto const tokens = g.live("tokens", rows);
  mk::axis const one("sequences", 1);
  auto const x = g.input("x", mk::data_type::fp32, {tokens, {"width", width}});
  std::vector<mk::axis> const axes{{"blocks", 1}, {"block_tokens", context}, {"heads", heads}, {"head_dim", head_dim}};
  mk::build::paged_kv const cache{.k = g.state("k_cache", mk::data_type::fp32, axes),
                                  .v = g.state("v_cache", mk::data_type::fp32, axes),
                                  .block_table = g.step("block_table", mk::data_type::int32, {one, {"blocks", 1}})};
  mk::build::batch_rows const which{.sequence = g.step("sequence", mk::data_type::int32, {tokens}),
                                    .position = g.step("position", mk::data_type::int32, {tokens})};
  mk::build::kv_append(g, "append", x, x, cache, which);
  g.output("y", mk::build::attention(g, "attention", x, cache, which, g.step("length", mk::data_type::int32, {one})).o);
  return mk::compile(g, {.workers = 2}, mk::full_operations);
}

// [step]
/// Tokens [first, first + count) of the sequence.
mk::step tokens(mk::tensor const& x, mk::tensor const& y, std::int64_t first) {
  auto const count = x.extent(0);
  std::vector<std::int32_t> position(static_cast<std::size_t>(count)), sequence(position.size(), 0);
  std::iota(position.begin(), position.end(), static_cast<std::int32_t>(first));
  return mk::step()
      .live("tokens", count)
      .values("position", position)
      .values("sequence", sequence)
      .values("length", {static_cast<std::int32_t>(first + count)})
      .values("block_table", {0})
      .bind("x", x.view())
      .bind("y", y.view());
}
// [/step]

mk::tensor wave(std::int64_t rows, std::int64_t first) {
  mk::tensor x(mk::data_type::fp32, {rows, width});
  auto const all = x.span<float>();
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<float>((static_cast<std::size_t>(first * width) + i) * 7 % 11) / 11;
  return x;
}

/// The answer to token 5 is the same bits whether tokens 0 to 4 came together or one by one.
bool shares_state() {
  // [shared]
  mk::session session(mk::host_device{}, mk::full_operations);
  auto const prompt = session.load(make_attention(8)); // both have the states k_cache and v_cache
  auto const decode = session.load(make_attention(1));

  auto const start = wave(5, 0), next = wave(1, 5);
  mk::tensor y_start(mk::data_type::fp32, {5, width}), y(mk::data_type::fp32, {1, width});
  session.submit(prompt, tokens(start, y_start, 0)); // returns at once
  session.submit(decode, tokens(next, y, 5)).wait(); // runs after the one before
  // [/shared]

  session.reset(); // states are zero again
  mk::tensor y_one(mk::data_type::fp32, {1, width}), y_again(mk::data_type::fp32, {1, width});
  for (std::int64_t i = 0; i < 5; ++i) session.submit(decode, tokens(wave(1, i), y_one, i)).wait();
  session.submit(decode, tokens(next, y_again, 5)).wait();
  bool const same = std::ranges::equal(y.span<float>(), y_again.span<float>());
  std::printf("together and one by one: %s\n", same ? "the same bits" : "DIFFERENT");
  return same;
}

/// A model of four words: after word w comes w + 1.
mk::program make_counter() {
  mk::graph g("counter");
  mk::axis const one("rows", 1), words("words", 4);
  auto const table = g.constant("table", mk::data_type::fp32, {words, {"classes", 4}});
  auto const word = g.step("word", mk::data_type::int32, {one});
  auto const logits = mk::build::embedding(g, "look_up", table, word);
  g.output("next", mk::build::sample(g, "sample", logits,
                                     {.temperature = g.step("temperature", mk::data_type::fp32, {one}),
                                      .top_k = g.step("top_k", mk::data_type::int32, {one}),
                                      .top_p = g.step("top_p", mk::data_type::fp32, {one}),
                                      .seed = g.step("seed", mk::data_type::int32, {one}),
                                      .counter = g.step("counter", mk::data_type::int32, {one})}));
  return mk::compile(g, {}, mk::full_operations);
}

bool repeats() {
  mk::session session(mk::host_device{}, mk::full_operations);
  auto const counter = session.load(make_counter());
  auto const table = std::make_shared<mk::tensor>(mk::data_type::fp32, std::initializer_list<std::int64_t>{4, 4});
  for (std::size_t w = 0; w < 4; ++w) table->span<float>()[w * 4 + (w + 1) % 4] = 1;
  session.set_constant("table", table);
  // [repeat]
  mk::tensor next(mk::data_type::int32, {1}), history(mk::data_type::int32, {6, 1});
  mk::step step;
  step.values("word", {2}).values("counter", {0}).bind("next", next.view());
  step.values("temperature", {0.0f}).values("top_k", {0}).values("top_p", {1.0f}).values("seed", {0});
  step.repeat(6)                     // six runs in one submission
      .carry("next", "word")         // each run's output is the next one's word
      .advance("counter", 1)         // and its number is one more
      .keep("word", history.view()); // what `word` became after each
  session.submit(counter, step).wait();
  // [/repeat]
  std::printf("after 2 come");
  for (auto word : history.span<std::int32_t>()) std::printf(" %d", word);
  std::puts("");
  return std::ranges::equal(history.span<std::int32_t>(), std::vector<std::int32_t>{3, 0, 1, 2, 3, 0});
}

bool refuses() {
  mk::session session(mk::host_device{}, mk::full_operations);
  auto const decode = session.load(make_attention(1));
  auto const x = wave(1, 0);
  mk::tensor y(mk::data_type::fp32, {1, width});
  // [refused]
  try {
    session.submit(decode, tokens(x, y, 40)); // the cache has 32 places
  } catch (mk::submit_error const& e) {
    std::puts(e.what()); // nothing was queued
  }
  // [/refused]
  session.submit(decode, tokens(x, y, 31)).wait();
  return true;
}

/// A norm on one of two slow workers, and a product that both share.
mk::program make_projection() {
  mk::graph g("projection");
  mk::axis const one("rows", 1), across("width", width);
  auto const x = g.input("x", mk::data_type::fp32, {one, across});
  auto const weight = g.constant("weight", mk::data_type::fp32, {{"out", width}, across});
  g.output("y", mk::build::linear(g, "project", mk::build::rms_norm(g, "norm", x, {}), weight));
  return mk::compile(g, {.workers = 2, .bytes_per_second = 1e8, .operations_per_second = 1e8}, mk::full_operations);
}

bool recovers() {
  // [stuck]
  // For the purpose of this page, the first record loses its signal, once.
  mk::session session(mk::host_device{.stuck_after = std::chrono::milliseconds(50), .drop_signal = 0},
                      mk::full_operations);
  auto const projection = session.load(make_projection());
  session.set_constant("weight", std::make_shared<mk::tensor>(wave(width, 0)));
  auto const x = wave(1, 0);
  mk::tensor y(mk::data_type::fp32, {1, width});
  auto const step = mk::step().bind("x", x.view()).bind("y", y.view());
  auto const first = session.submit(projection, step), second = session.submit(projection, step);
  for (auto const& submission : {first, second}) {
    try {
      submission.wait();
    } catch (mk::submission_cancelled const& e) { // a device_error too
      std::puts(e.what());
    } catch (mk::device_error const& e) {
      std::printf("failed: %s\n", e.what());
    }
  }
  session.reset(); // programs and constants stay, states are zero
  session.submit(projection, step).wait();
  // [/stuck]
  return first.state() == mk::submission_state::failed && second.state() == mk::submission_state::cancelled;
}

} // namespace

int main() {
  for (auto const section : {shares_state, repeats, refuses, recovers}) {
    if (!section()) return 1;
    std::puts("");
  }
}
