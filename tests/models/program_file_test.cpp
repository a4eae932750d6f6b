#include "command_line.hpp"
#include "model_path.hpp"
#include "process.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

namespace mk::test {
namespace {

using arguments = std::vector<std::string>;

arguments joined(arguments all, arguments const& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// A place for a program file.
struct program_path : temporary_file {
  program_path() : temporary_file("made.mkp", {}) {}
  [[nodiscard]] std::string text() const { return path().string(); }
  void write(std::string const& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }
  [[nodiscard]] std::string read() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

class ProgramFile : public testing::Test {
protected:
  temporary_file model_{"talking.gguf", talking_llama().bytes()};
  program_path program_;

  void SetUp() override {
    auto const compiled = run({MK_COMPILE, model_.path().string(), "--workers", "2", "-o", program_.text()});
    ASSERT_EQ(compiled.code, 0) << compiled.err;
    EXPECT_EQ(compiled.out, "");
    EXPECT_TRUE(compiled.err.starts_with(program_.text() + ": ")) << compiled.err;
  }

  ended run_with(std::string const& model, arguments const& more) const {
    return run(joined({MK_RUN, program_.text(), "--model", model}, more));
  }

  void expect_refused(std::string const& cause) const {
    auto const refused = run_with(model_.path().string(), {"--raw", "q"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(refused.out, "");
    EXPECT_TRUE(refused.err.starts_with("mk-run: error: " + program_.text() + ": " + cause)) << refused.err;
    EXPECT_EQ(std::ranges::count(refused.err, '\n'), 1) << refused.err;
  }
};

TEST_F(ProgramFile, SaysWhatTheModelSays) {
  auto const model = model_.path().string();
  for (arguments const& options : {arguments{},
                                   {"--temperature", "3", "--seed", "5", "--top-k", "40"},
                                   {"--temperature", "2.5", "--top-p", "0.8", "--seed", "-1"}}) {
    auto const asked = joined({"--raw", "--max-tokens", "60", "ab"}, options);
    auto const expected = run(joined({MK_GENERATE, "--model", model}, asked));
    auto const found = run_with(model, asked);
    EXPECT_EQ(found.code, 0);
    EXPECT_EQ(found.out, expected.out);
    EXPECT_GT(found.out.size(), 60u);
  }
}

TEST_F(ProgramFile, ListsItsTasks) {
  auto const listed = run({MK_COMPILE, model_.path().string(), "--list", "-o", program_.text()});
  EXPECT_EQ(listed.code, 0);
  EXPECT_NE(listed.out.find("blk.0.attention"), std::string::npos) << listed.out.substr(0, 1000);
}

TEST_F(ProgramFile, IsRefusedWhenTruncated) {
  auto const whole = program_.read();
  for (std::size_t const size : {std::size_t(0), std::size_t(1), std::size_t(8), whole.size() / 2, whole.size() - 1}) {
    program_.write(whole.substr(0, size));
    expect_refused("");
  }
  program_.write(whole + "x");
  expect_refused("");
}

TEST_F(ProgramFile, IsRefusedWhenABitIsFlipped) {
  auto const whole = program_.read();
  std::mt19937 random(7);
  for (int trial = 0; trial < 1000 && !HasFailure(); ++trial) {
    auto flipped = whole;
    auto const bit = random() % (whole.size() * 8);
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    program_.write(flipped);
    expect_refused("");
  }
}

TEST_F(ProgramFile, IsRefusedForAnotherModel) {
  auto other = talking_llama();
  other.text("general.name", "Other").number("llama.rope.freq_base", 20000.0f);
  temporary_file const file("other.gguf", other.bytes());
  auto const refused = run_with(file.path().string(), {"q"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.err, "mk-run: error: " + program_.text() +
                             ": the program was made for the model 'Talking', where theta is 10000.0; in 'Other' it is "
                             "20000.0\n");
}

TEST_F(ProgramFile, RunsWithOtherWeights) {
  auto other = talking_llama();
  other.text("general.name", "Other");
  temporary_file const file("other.gguf", other.bytes());
  EXPECT_EQ(run_with(file.path().string(), {"hello"}).out, "qr\n");
}

TEST(ProgramFileOf, NothingIsRefused) {
  auto const missing = run({MK_RUN, "/nowhere.mkp", "q"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.err, "mk-run: error: program file '/nowhere.mkp' cannot be read\n");
  EXPECT_EQ(run({MK_RUN}).err, "mk-run: error: program is required (--help lists the options)\n");
  auto const unwritten = run({MK_COMPILE, "/nowhere.gguf", "-o", "/nowhere/p.mkp"});
  EXPECT_EQ(unwritten.err, "mk-compile: error: /nowhere.gguf: cannot open: No such file or directory\n");
}

TEST(ProgramFileOf, SmolLm2SaysWhatTheModelSays) {
  MK_REQUIRE_MODEL();
  program_path const program;
  auto const model = model_path().string();
  ASSERT_EQ(run({MK_COMPILE, model, "-o", program.text()}).code, 0);
  arguments const asked{"--model", model, "--raw", "--max-tokens", "8", "The capital of France is"};
  auto const expected = run(joined({MK_GENERATE}, asked));
  EXPECT_EQ(expected.out, " Paris.\n\nThe answer is:\n");
  EXPECT_EQ(run(joined({MK_RUN, program.text()}, asked)).out, expected.out);
}

/// Whether a symbol of that name is in the program.
bool has_function(std::string const& symbols, std::string const& name) {
  return symbols.find(" " + name + "(") != std::string::npos;
}

// Passes that make programs are not linked into the program that runs them.
TEST(ProgramFileOf, RunNeedsNoCompiler) {
  auto const symbols = [](std::string const& program) { return run({"nm", "-C", program}); };
  auto const compiler = symbols(MK_COMPILE);
  auto const runner = symbols(MK_RUN);
  if (compiler.code != 0) GTEST_SKIP() << "there is no nm that lists symbols";
  for (std::string const pass : {"mk::compile", "mk::tile", "mk::depend", "mk::plan_memory", "mk::place", "mk::order",
                                 "mk::llama::make_graph", "mk::llama::compile_model", "mk::graph::graph"}) {
    EXPECT_TRUE(has_function(compiler.out, pass)) << pass;
    EXPECT_FALSE(has_function(runner.out, pass)) << pass;
  }
  // The other `encode` writes program files.
  EXPECT_NE(compiler.out.find(" mk::encode(mk::graph"), std::string::npos);
  EXPECT_EQ(runner.out.find(" mk::encode(mk::graph"), std::string::npos);
  for (std::string const needed : {"mk::decode", "mk::verify"}) EXPECT_TRUE(has_function(runner.out, needed)) << needed;
}

} // namespace
} // namespace mk::test
