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

std::int32_t generator::feed(std::span<std::int32_t const> tokens, sampling const& how) {
  if (length_ + static_cast<std::int64_t>(tokens.size()) > context())
    throw submit_error("generator: " + std::to_string(tokens.size()) + " tokens after " + std::to_string(length_) +
                       " leave the context of " + std::to_string(context()));
  while (!tokens.empty()) {
    auto const& program = program_for(static_cast<std::int64_t>(tokens.size()));
    auto const count = std::min(tokens.size(), static_cast<std::size_t>(program.serves.tokens));
    auto const outputs = count == tokens.size() ? 1 : 0;
    batch b(program.serves);
    b.add(0, tokens.first(count), length_, outputs, how);
    auto s = b.to_step();
    auto logits = logits_.view();
    auto next = next_.view();
    logits.extents[0] = next.extents[0] = outputs;
    s.bind("logits", logits).bind("next_token", next);
    session_.submit(program.id, s).wait();
    length_ += static_cast<std::int64_t>(count);
    tokens = tokens.subspan(count);
  }
  return next_.span<std::int32_t>()[0];
}

answer_times answer(generator& g, std::span<std::int32_t const> prompt, answer_options const& options,
                    std::function<void(std::int32_t)> const& emit) {
  using clock = std::chrono::steady_clock;
  auto const seconds_since = [](clock::time_point t) {
    return std::chrono::duration<double>(clock::now() - t).count();
  };
  answer_times times{.prompt_tokens = static_cast<std::int64_t>(prompt.size())};
  if (prompt.empty()) throw submit_error("the prompt has no tokens");

  auto const start = clock::now();
  auto token = g.feed(prompt, options.how);
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
