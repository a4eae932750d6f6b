#pragma once

/// Models in a session of the host, driven batch by batch.

#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/runtime/weights/gguf.hpp>

#include "models/llama/batch.hpp"
#include "models/llama/compiling.hpp"
#include "models/llama/generator.hpp"
#include "models/llama/weights.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace mk::test {

inline bool same_bits(std::span<float const> a, std::span<float const> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// What a submission gave, a row for each row of `batch` with logits, in that order.
struct step_result {
  std::size_t vocabulary = 0;
  std::vector<float> logits;
  std::vector<std::int32_t> next;

  [[nodiscard]] std::span<float const> row(std::size_t i) const {
    return std::span(logits).subspan(i * vocabulary, vocabulary);
  }
};

/// A model file with its weights in a session, and any number of programs.
class llama_runner {
public:
  llama_runner(std::filesystem::path const& path, data_type weights, device_choice const& device = host_device{})
      : file_(path), config_(llama::read_config(file_)), device_(device), session_(device, llama_operations) {
    llama::load_weights(session_, file_, weights);
  }

  llama::loaded_program add(llama::capacity const& serves, std::int64_t workers = 2) {
    return {session_.load(llama::compile_model(config_, serves, llama::machine_for(device_, workers)).bytes), serves};
  }

  [[nodiscard]] llama::config const& config() const { return config_; }
  [[nodiscard]] mk::session& session() { return session_; }

  step_result run(llama::loaded_program const& p, llama::batch const& b) { return run(p, b.to_step(), b.outputs()); }

  step_result run(llama::loaded_program const& p, step s, std::int64_t outputs) {
    auto const vocabulary = config_.vocabulary;
    tensor logits(data_type::fp32, {outputs, vocabulary});
    tensor next(data_type::int32, {outputs});
    s.bind("logits", logits.view()).bind("next_token", next.view());
    session_.submit(p.id, s).wait();
    auto const numbers = logits.span<float>();
    auto const tokens = next.span<std::int32_t>();
    return {static_cast<std::size_t>(vocabulary), {numbers.begin(), numbers.end()}, {tokens.begin(), tokens.end()}};
  }

  /// Logits of every token of a text, fed to the sequence from `past` on, `chunk` tokens a submission.
  std::vector<float> feed(llama::loaded_program const& p, std::int64_t sequence, std::span<std::int32_t const> tokens,
                          std::size_t chunk, std::int64_t past = 0) {
    std::vector<float> all;
    while (!tokens.empty()) {
      auto const now = tokens.first(std::min(chunk, tokens.size()));
      llama::batch b(p.serves);
      b.add(sequence, now, past, static_cast<std::int64_t>(now.size()));
      auto const result = run(p, b);
      all.insert(all.end(), result.logits.begin(), result.logits.end());
      past += static_cast<std::int64_t>(now.size());
      tokens = tokens.subspan(now.size());
    }
    return all;
  }

private:
  gguf_file file_;
  llama::config config_;
  device_choice device_;
  mk::session session_;
};

} // namespace mk::test
