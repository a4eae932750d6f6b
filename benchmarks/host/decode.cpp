#include <megakernels/ops/all.hpp>
#include <megakernels/scheduler/program/codec.hpp>

#include "host/benchmarks.hpp"
#include "kit/suite.hpp"
#include "kit/timing.hpp"
#include "models/llama/compiling.hpp"
#include "models/llama/weights.hpp"
#include "models/text/bpe_tokenizer.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace mk::bench {
namespace {

constexpr std::int64_t context = 2048; // that programs are made for, as those of mk-generate
constexpr std::size_t prompt_tokens = 48;
constexpr std::size_t answer_tokens = 32;

/// Sequence s is given the tokens [s, s + prompt_tokens) of this.
constexpr std::string_view sample_text =
    "The sun is a star at the centre of a group of eight planets. The third of them is the Earth, which has one moon. "
    "The moon goes round the Earth in about a month, and the Earth goes round the sun in a year. The largest of the "
    "planets is";

/// How the model goes on after the first 48 of its tokens.
constexpr std::string_view known_answer =
    " year. The Earth is the only planet that has a solid surface. The Sun is the only star that is not a star. "
    "The Sun is the only star";

struct model_file {
  gguf_file file{llama::model_path("smollm2")};
  llama::config config = llama::read_config(file);
};

struct round_result {
  std::vector<std::vector<std::int32_t>> answers; ///< of each sequence
  std::uint64_t logits = 0;                       ///< hash of those of the last step
  std::vector<double> step_seconds{};
};

/// A session in which programs for several numbers of workers share weights and cache.
class talker {
public:
  talker(model_file const& model, std::int64_t sequences)
      : model_(model), sequences_(sequences), session_(host_device{}, llama_operations) {
    llama::load_weights(session_, model.file, data_type::bf16);
  }

  /// Lets each of the texts go on for some tokens, greedily.
  round_result talk(std::vector<std::vector<std::int32_t>> const& texts, std::int64_t workers, std::size_t tokens) {
    auto const& programs = programs_for(workers);
    round_result result{.answers = std::vector<std::vector<std::int32_t>>(texts.size())};
    std::vector<std::int32_t> next;
    for (std::size_t s = 0; s < texts.size(); ++s) {
      llama::batch prompt(programs.prompt.serves);
      prompt.add(static_cast<std::int64_t>(s), texts[s], 0, 1);
      next.push_back(submit(programs.prompt.id, prompt)[0]);
    }
    for (std::size_t i = 0; i < tokens; ++i) {
      llama::batch b(programs.decode.serves);
      for (std::size_t s = 0; s < texts.size(); ++s) {
        result.answers[s].push_back(next[s]);
        b.add(static_cast<std::int64_t>(s), std::span(&next[s], 1), static_cast<std::int64_t>(texts[s].size() + i), 1);
      }
      stopwatch const watch;
      next = submit(programs.decode.id, b);
      result.step_seconds.push_back(watch.seconds());
    }
    result.logits = hash_of(std::span(logits_.data(), logits_.size_bytes()));
    return result;
  }

  std::uint64_t constant_bytes() const { return constant_bytes_; }

private:
  struct pair {
    std::int64_t workers;
    llama::loaded_program prompt;
    llama::loaded_program decode;
  };

  llama::loaded_program load(std::int64_t tokens, std::int64_t workers) {
    auto serves = llama::single_sequence(tokens, context);
    serves.sequences = serves.outputs = sequences_;
    serves.blocks *= sequences_;
    auto made = llama::compile_model(model_.config, serves, llama::host_machine(workers));
    constant_bytes_ = 0;
    for (auto const& b : made.bytes.buffers)
      if (b.kind == buffer_kind::constant) constant_bytes_ += b.bytes;
    return {session_.load(std::move(made.bytes)), serves};
  }

  pair const& programs_for(std::int64_t workers) {
    auto const found = std::ranges::find(programs_, workers, &pair::workers);
    if (found != programs_.end()) return *found;
    auto const prompt = load(llama::prompt_chunk, workers);
    return programs_.emplace_back(workers, prompt, load(sequences_, workers));
  }

  std::vector<std::int32_t> submit(program_id id, llama::batch const& b) {
    logits_ = tensor(data_type::fp32, {b.outputs(), model_.config.vocabulary});
    tensor next(data_type::int32, {b.outputs()});
    session_.submit(id, b.to_step().bind("logits", logits_.view()).bind("next_token", next.view())).wait();
    auto const tokens = next.span<std::int32_t>();
    return {tokens.begin(), tokens.end()};
  }

  model_file const& model_;
  std::int64_t sequences_;
  session session_;
  std::vector<pair> programs_;
  tensor logits_;
  std::uint64_t constant_bytes_ = 0;
};

std::vector<std::vector<std::int32_t>> texts_of(bpe_tokenizer const& tokenizer, std::size_t count) {
  auto const tokens = tokenizer.encode(sample_text);
  expect(tokens.size() >= prompt_tokens + count, "host/decode: the text has only " + std::to_string(tokens.size()));
  std::vector<std::vector<std::int32_t>> texts;
  for (std::size_t s = 0; s < count; ++s)
    texts.emplace_back(tokens.begin() + static_cast<std::ptrdiff_t>(s),
                       tokens.begin() + static_cast<std::ptrdiff_t>(s + prompt_tokens));
  return texts;
}

void expect_known(bpe_tokenizer const& tokenizer, std::vector<std::int32_t> const& answer) {
  std::string found;
  for (auto token : answer) found += tokenizer.decode(token);
  expect(known_answer.starts_with(found), "the model goes on with '" + found + "'");
}

/// Bytes that one step reads, in the middle of an answer.
double step_bytes(talker const& t, llama::config const& c, std::int64_t sequences) {
  auto const positions = static_cast<double>(prompt_tokens) + (answer_tokens + 1) / 2.0;
  auto const of_a_position = static_cast<double>(c.layers * c.kv_heads * c.head_dim * 2 * 2);
  auto const table = static_cast<double>(c.tied ? 0 : c.vocabulary * c.hidden * 2);
  return static_cast<double>(t.constant_bytes()) - table + static_cast<double>(sequences) * positions * of_a_position;
}

} // namespace

figure decode_smollm2(std::int64_t sequences) {
  model_file const model;
  bpe_tokenizer const tokenizer(read_tokenizer_data(model.file));
  auto const texts = texts_of(tokenizer, static_cast<std::size_t>(sequences));
  talker t(model, sequences);

  auto const alone = t.talk(texts, 1, answer_tokens); // also brings everything into memory
  expect_known(tokenizer, alone.answers[0]);
  std::vector<double> seconds;
  for (int round = 0; round < (sequences == 1 ? 8 : 4); ++round) {
    auto const r = t.talk(texts, cores(), answer_tokens);
    expect(r.answers == alone.answers && r.logits == alone.logits,
           "host/decode: answers or logits differ from those of one worker");
    seconds.insert(seconds.end(), r.step_seconds.begin(), r.step_seconds.end());
  }
  auto const count = static_cast<double>(sequences);
  return {.unit = "token/s",
          .measured = summarize(rates(count, seconds)),
          .limit = count * stream_gbytes() * 1e9 / step_bytes(t, model.config, sequences),
          .verdict = "the known answer in every round; logits have the same bits as with one worker"};
}

figure load_smollm2() {
  bpe_tokenizer const tokenizer(read_tokenizer_data(gguf_file(llama::model_path("smollm2"))));
  auto const texts = texts_of(tokenizer, 1);
  double bytes = 0;
  std::vector<double> us;
  for (int run = 0; run < 6; ++run) {
    stopwatch const watch;
    model_file const model;
    talker t(model, 1);
    auto const seconds = watch.seconds();
    if (run > 0) us.push_back(seconds * 1e6); // the first brings the file into memory
    expect_known(tokenizer, t.talk(texts, cores(), 8).answers[0]);
    bytes = static_cast<double>(t.constant_bytes());
    for (auto const& tensor : model.file.tensors()) bytes += static_cast<double>(tensor.bytes.size());
  }
  return {.unit = "us",
          .measured = summarize(us),
          .limit = bytes / stream_gbytes() / 1e3,
          .verdict = "the known answer after every load"};
}

} // namespace mk::bench
