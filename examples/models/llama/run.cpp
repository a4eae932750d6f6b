// mk-run: runs a program file of mk-compile on a model's weights. Contains none of the passes that make programs.

#include <megakernels/ops/error.hpp>
#include <megakernels/scheduler/program/codec.hpp>

#include "models/llama/talk.hpp"

#include <fstream>
#include <iterator>

namespace {

mk::program read_program(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw mk::file_error("program file '" + path + "' cannot be read");
  std::vector<char> const bytes(std::istreambuf_iterator<char>(file), {});
  try {
    return mk::decode(std::as_bytes(std::span(bytes)));
  } catch (mk::program_error const& e) {
    throw mk::program_error(path + ": " + e.what());
  }
}

} // namespace

int main(int argc, char** argv) {
  using namespace mk::llama;
  options o;
  std::string path;
  CLI::App app("Runs a program file: lets its model answer a prompt.");
  app.add_option("program", path, "a program file")->required();
  add_model_option(app, o);
  add_prompt_options(app, o);
  CLI11_PARSE(app, argc, argv);

  return guarded("mk-run", [&] {
    auto p = read_program(path);
    auto const serves = read_capacity(p.metadata);
    return talk(o, [&](config const&) {
      std::vector<made_program> programs;
      programs.push_back({std::move(p), serves});
      return programs;
    });
  });
}
