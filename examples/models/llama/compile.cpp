// mk-compile: a model as a program file, which mk-run runs.

#include <megakernels/ops/all.hpp>
#include <megakernels/ops/error.hpp>
#include <megakernels/scheduler/program/codec.hpp>
#include <megakernels/scheduler/program/disassemble.hpp>

#include "models/llama/compiling.hpp"

#include <fstream>
#include <iostream>

int main(int argc, char** argv) {
  using namespace mk::llama;
  options o;
  std::string out;
  bool list = false;
  CLI::App app("Compiles a Llama-family model into a program file, which mk-run runs.", "mk-compile");
  app.add_option("model", o.model, "a GGUF file of the Llama family, or smollm2")->required();
  app.add_option("-o,--output", out, "the program file to write")->required();
  app.add_flag("--list", list, "print a listing of the program");
  add_worker_options(app, o);
  if (auto const code = parse(app, argc, argv)) return *code;

  return guarded("mk-compile", [&] {
    mk::gguf_file const file(model_path(o.model));
    auto const c = read_config(file);
    auto const made = compile_model(c, single_sequence(prompt_chunk, context_for(c, o)), host_machine(o.workers));
    if (list) std::cout << mk::disassemble(made.bytes, mk::llama_operations);
    auto const bytes = mk::encode(made.bytes);
    std::ofstream to(out, std::ios::binary);
    to.write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    to.close();
    if (!to) throw mk::file_error("program file '" + out + "' cannot be written");
    std::cerr << out << ": " << bytes.size() << " bytes, " << made.bytes.records.size() << " tasks for "
              << made.bytes.workers.size() << " workers\n";
    return 0;
  });
}
