#include "models/llama/talk.hpp"

#include <megakernels/ops/all.hpp>
#include <megakernels/ops/error.hpp>

#include "models/llama/weights.hpp"
#include "models/text/bpe_tokenizer.hpp"
#include "models/text/chat_template.hpp"
#include "models/text/utf8_stream.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

namespace mk::llama {
namespace {

std::sig_atomic_t volatile interrupted = 0;

void on_interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL); // a second Ctrl-C ends the program at once
}

/// A bar on standard error while it is a terminal; one line at the end where it is not.
void show_progress(double share) {
  constexpr int width = 30;
  bool const terminal = isatty(STDERR_FILENO) != 0;
  if (!terminal && share < 1) return;
  auto const full = static_cast<int>(share * width);
  std::fprintf(stderr, "%sloading weights [%.*s%*s] %3d %%", terminal ? "\r" : "", full,
               "##############################", width - full, "", static_cast<int>(share * 100));
  if (share >= 1) std::fputc('\n', stderr);
  std::fflush(stderr);
}

struct question {
  std::vector<token_id> tokens;
  std::vector<token_id> ends;
};

bpe_tokenizer read_tokenizer(gguf_file const& file, config const& model) {
  bpe_tokenizer tokenizer(read_tokenizer_data(file));
  if (static_cast<std::int64_t>(tokenizer.size()) != model.vocabulary)
    throw file_error(file.name() + ": there are " + std::to_string(tokenizer.size()) + " tokens, but " +
                     std::to_string(model.vocabulary) + " rows of tensor \"token_embd.weight\"");
  return tokenizer;
}

question read_question(options const& o, gguf_file const& file, bpe_tokenizer const& tokenizer) {
  auto const text = prompt_of(o);
  if (o.raw) return {tokenizer.encode(text), tokenizer.data().ends};
  if (tokenizer.data().chat_template.empty())
    throw file_error(file.name() + ": the model has no chat template; --raw continues a text without one");
  chat_template const chat(tokenizer.data().chat_template, file.name());
  chat_message const message{.role = "user", .content = text};
  return {chat.encode(std::span(&message, 1), tokenizer), chat.end_tokens(tokenizer.data())};
}

/// Before the weights are loaded, which takes a while.
void expect_room(question const& asked, std::vector<loaded_program> const& programs) {
  if (asked.tokens.empty()) throw error("the prompt has no tokens of this model");
  auto const context = programs.front().serves.context();
  if (static_cast<std::int64_t>(asked.tokens.size()) > context)
    throw error("the prompt has " + std::to_string(asked.tokens.size()) + " tokens, the program has room for " +
                std::to_string(context) + " (--context of mk-generate and mk-compile makes more)");
}

void report(answer_times const& t) {
  char const* const why[] = {"", ", token limit reached", ", context full", ", the logits were not numbers",
                             ", interrupted"};
  auto const later = static_cast<double>(t.tokens > 0 ? t.tokens - 1 : 0);
  std::fprintf(stderr, "%lld prompt tokens, %.1f tokens/s; %lld tokens, %.1f tokens/s%s\n",
               static_cast<long long>(t.prompt_tokens), static_cast<double>(t.prompt_tokens) / t.prompt_seconds,
               static_cast<long long>(t.tokens), t.seconds > 0 ? later / t.seconds : 0.0,
               why[static_cast<std::size_t>(t.why)]);
}

void write_out(std::string const& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw error("standard output cannot be written");
}

} // namespace

int talk(options const& o, program_source const& source) {
  auto const device = device_of(o);
  gguf_file const file(model_path(o.model));
  auto const model = read_config(file);
  auto const tokenizer = read_tokenizer(file, model);
  auto const asked = read_question(o, file, tokenizer);

  session s(device, llama_operations);
  std::vector<loaded_program> programs;
  std::size_t workers = 0;
  for (auto& made : source(model)) {
    workers = made.bytes.workers.size();
    programs.push_back({s.load(std::move(made.bytes)), made.serves});
  }
  expect_room(asked, programs);
  load_weights(s, file, programs.front().serves.weights, show_progress);
  std::signal(SIGINT, on_interrupt);
  std::fprintf(stderr, "device: %s, %zu workers\n", o.device.c_str(), workers);

  generator g(s, std::move(programs), model.vocabulary);
  utf8_stream text;
  auto const times = answer(g, asked.tokens,
                            {.how = o.how,
                             .max_tokens = o.max_tokens,
                             .end_tokens = asked.ends,
                             .interrupted = [] { return interrupted != 0; }},
                            [&](std::int32_t token) { write_out(text.push(tokenizer.decode(token))); });
  write_out(text.flush() + "\n");
  report(times);
  return times.why == finish::interrupted ? 130 : 0;
}

int guarded(char const* program_name, std::function<int()> const& body) {
  try {
    return body();
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s: error: %s\n", program_name, e.what());
  }
  return 1;
}

} // namespace mk::llama
