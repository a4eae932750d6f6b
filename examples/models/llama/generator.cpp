#include "models/llama/generator.hpp"

#include <megakernels/ops/error.hpp>

#include <algorithm>
#include <chrono>

namespace mk::llama {

generator::generator(session& s, std::vector<loaded_program> programs, std::int64_t vocabulary)
    : session_(s), programs_(std::move(programs)), logits_(data_type::fp32, {1, vocabulary}),
      next_(data_type::int32, {1}) {
  std::sort(programs_.begin(), programs_.end(),
            [](auto const& a, auto const& b) { return a.serves.tokens < b.serves.tokens; });
}

loaded_program const& generator::program_for(std::int64_t tokens) const {
  for (auto const& p : programs_)
    if (tokens <= p.serves.tokens) return p;
  return programs_.back();
}

void generator::expect_room(std::size_t tokens) const {
  if (length_ + static_cast<std::int64_t>(tokens) > context())
    throw submit_error("generator: " + std::to_string(tokens) + " tokens after " + std::to_string(length_) +
                       " do not fit the context of " + std::to_string(context()));
}

void generator::submit(std::span<std::int32_t const> tokens, std::int64_t outputs, sampling const& how) {
  auto const& program = program_for(static_cast<std::int64_t>(tokens.size()));
  batch b(program.serves);
  b.add(0, tokens, length_, outputs, how);
  auto s = b.to_step();
  auto logits = logits_.view();
  auto next = next_.view();
  logits.extents[0] = next.extents[0] = outputs;
  s.bind("logits", logits).bind("next_token", next);
  session_.submit(program.id, s).wait();
  length_ += static_cast<std::int64_t>(tokens.size());
}

void generator::append(std::span<std::int32_t const> tokens) {
  expect_room(tokens.size());
  while (!tokens.empty()) {
    auto const count = std::min(tokens.size(), static_cast<std::size_t>(chunk()));
    submit(tokens.first(count), 0, {});
    tokens = tokens.subspan(count);
  }
}

std::int32_t generator::feed(std::span<std::int32_t const> tokens, sampling const& how) {
  if (tokens.empty()) throw submit_error("generator: no tokens to feed");
  expect_room(tokens.size());
  auto const last = (tokens.size() - 1) % static_cast<std::size_t>(chunk()) + 1;
  append(tokens.first(tokens.size() - last));
  submit(tokens.last(last), 1, how);
  return next_.span<std::int32_t>()[0];
}

answer_times answer(generator& g, std::span<std::int32_t const> prompt, answer_options const& options,
                    std::function<void(std::int32_t)> const& emit) {
  using clock = std::chrono::steady_clock;
  auto const seconds_since = [](clock::time_point t) {
    return std::chrono::duration<double>(clock::now() - t).count();
  };
  if (prompt.empty()) throw submit_error("the prompt has no tokens");
  if (auto const room = g.context() - g.length(); static_cast<std::int64_t>(prompt.size()) > room)
    throw submit_error("the prompt has " + std::to_string(prompt.size()) + " tokens, the context has room for " +
                       std::to_string(room));

  answer_times times;
  auto const start = clock::now();
  auto const chunk = static_cast<std::size_t>(g.chunk());
  for (; prompt.size() > chunk && !options.interrupted(); prompt = prompt.subspan(chunk)) {
    g.append(prompt.first(chunk));
    times.prompt_tokens += g.chunk();
  }
  if (prompt.size() > chunk) {
    times.prompt_seconds = seconds_since(start);
    times.why = finish::interrupted;
    return times;
  }
  auto token = g.feed(prompt, options.how);
  times.prompt_tokens += static_cast<std::int64_t>(prompt.size());
  times.prompt_seconds = seconds_since(start);

  auto const first = clock::now();
  for (;; token = g.feed(std::span(&token, 1), options.how)) {
    times.seconds = seconds_since(first);
    auto const& ends = options.end_tokens;
    if (std::find(ends.begin(), ends.end(), token) != ends.end())
      times.why = finish::end_token;
    else if (token < 0)
      times.why = finish::no_number;
    else if (options.interrupted())
      times.why = finish::interrupted;
    else if (times.tokens >= options.max_tokens)
      times.why = finish::length;
    else {
      emit(token);
      ++times.tokens;
      if (times.tokens < options.max_tokens && g.length() < g.context()) continue;
      times.why = times.tokens < options.max_tokens ? finish::context_full : finish::length;
    }
    return times;
  }
}

} // namespace mk::llama
