// mk-generate: a model file answers a prompt.

#include "models/llama/compiling.hpp"

int main(int argc, char** argv) {
  using namespace mk::llama;
  options o;
  CLI::App app("Lets a Llama-family model answer a prompt.", "mk-generate");
  add_model_option(app, o);
  add_prompt_options(app, o);
  add_worker_options(app, o);
  if (auto const code = parse(app, argc, argv)) return *code;

  return guarded("mk-generate", [&] {
    return talk(o, [&](config const& c) {
      auto const machine = machine_for(device_of(o), o.workers);
      std::vector<made_program> programs;
      for (auto const tokens : {std::int64_t(1), prompt_chunk})
        programs.push_back(compile_model(c, single_sequence(tokens, context_for(c, o)), machine));
      return programs;
    });
  });
}
