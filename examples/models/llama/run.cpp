// mk-run: runs a program file of mk-compile on a model's weights. Contains none of the passes that make programs.

#include <megakernels/ops/error.hpp>
#include <megakernels/scheduler/program/codec.hpp>

#include "models/llama/metadata.hpp"
#include "models/llama/talk.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

/// Calls f and lets its errors name the file.
template <class F> auto in_file(std::string const& path, F f) {
  try {
    return f();
  } catch (mk::program_error const& e) {
    throw mk::program_error(path + ": " + e.what());
  }
}

mk::program read_program(std::string const& path) {
  if (std::filesystem::is_directory(path)) throw mk::file_error("program file '" + path + "' is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw mk::file_error("program file '" + path + "' cannot be read");
  std::vector<char> const bytes(std::istreambuf_iterator<char>(file), {});
  return in_file(path, [&] { return mk::decode(std::as_bytes(std::span(bytes))); });
}

} // namespace

int main(int argc, char** argv) {
  using namespace mk::llama;
  options o;
  std::string path;
  CLI::App app("Runs a program file of mk-compile: lets its model answer a prompt.", "mk-run");
  app.add_option("program", path, "a program file of mk-compile")->required();
  add_model_option(app, o);
  add_prompt_options(app, o);
  if (auto const code = parse(app, argc, argv)) return *code;

  return guarded("mk-run", [&] {
    auto p = read_program(path);
    o.workers = static_cast<std::int64_t>(p.workers.size());
    auto const serves = in_file(path, [&] { return read_capacity(p.metadata); });
    return talk(o, [&](config const& model) {
      in_file(path, [&] { expect_made_for(model, p.metadata); });
      std::vector<made_program> programs;
      programs.push_back({std::move(p), serves});
      return programs;
    });
  });
}
