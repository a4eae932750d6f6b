#include "command_line.hpp"
#include "models/text/utf8.hpp"
#include "process.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace mk::test {
namespace {

using arguments = std::vector<std::string>;

class CommandLine : public testing::Test {
protected:
  temporary_file model_{"talking.gguf", talking_llama().bytes()};

  arguments generate(arguments const& more) const {
    arguments all{MK_GENERATE, "--model", model_.path().string()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(CommandLine, WritesTheAnswerAndNothingElse) {
  auto const raw = run(generate({"--raw", "q"}));
  EXPECT_EQ(raw.code, 0);
  EXPECT_EQ(raw.out, "r\n");
  EXPECT_NE(raw.err.find("device: host, "), std::string::npos) << raw.err;
  EXPECT_NE(raw.err.find("1 prompt tokens, "), std::string::npos) << raw.err;
  EXPECT_EQ(run(generate({"hello"})).out, "qr\n");
  EXPECT_EQ(run(generate({"--raw", "--max-tokens", "0", "a"})).out, "\n");
  EXPECT_EQ(run(generate({"--raw", "--max-tokens", "4", "a"})).out, "\u20acb\n");
  EXPECT_EQ(run(generate({"--raw", "--max-tokens", "2", "a"})).out, "\ufffd\n") << "a character that was cut";
  EXPECT_EQ(run(generate({"--raw", "--context", "3", "a"})).out, "\u20ac\n");
  EXPECT_EQ(run(generate({"--raw", "--workers", "7", "q"})).out, "r\n");
}

TEST_F(CommandLine, ReadsPromptsFromFiles) {
  temporary_file const prompt("prompt.txt", std::as_bytes(std::span("xq", 2)));
  EXPECT_EQ(run(generate({"--raw", "--prompt-file", prompt.path().string()})).out, "r\n");
  auto const piped = run(generate({"--raw", "--prompt-file", "-"}), "xq");
  EXPECT_EQ(piped.out, "r\n");
  EXPECT_EQ(piped.code, 0);
}

TEST_F(CommandLine, ListsItsOptions) {
  for (std::string const program : {MK_GENERATE, MK_COMPILE, MK_RUN}) {
    auto const help = run({program, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_NE(help.out.find("Usage: mk-"), std::string::npos) << help.out;
  }
}

// One line says what is wrong, and nothing reaches standard output.
TEST_F(CommandLine, RefusesWithOneLine) {
  auto const bytes = talking_llama().bytes();
  auto const file = [](std::string const& name, std::span<std::byte const> content) {
    return std::make_unique<temporary_file>(name, content);
  };
  auto const text = [](std::string_view t) { return std::as_bytes(std::span(t)); };
  auto const truncated = file("truncated.gguf", std::span(bytes).first(bytes.size() - 1000));
  auto const cut = file("cut.gguf", std::span(bytes).first(300));
  auto const untalking = file("untalking.gguf", talking_llama().without("tokenizer.chat_template").bytes());
  auto const smaller = file("smaller.gguf", talking_llama()
                                                .texts("tokenizer.ggml.tokens", arguments(9, "x"))
                                                .without("tokenizer.ggml.token_type")
                                                .without("tokenizer.ggml.eos_token_id")
                                                .bytes());
  auto const binary = file("binary", text(std::string_view("a\0b", 3)));
  auto const latin = file("latin", text("caf\xe9"));
  auto const empty = file("empty", {});
  auto const path = [](auto const& f) { return f->path().string(); };

  struct refusal {
    arguments given;
    std::string line; ///< without the program's name
    int code = 1;
  };
  std::string const help = " (--help lists the options)";
  for (auto const& [given, line, code] : std::vector<refusal>{
           {{"--device", "tpu", "q"}, "device 'tpu': "},
           {{"--model", "/nowhere.gguf", "q"}, "/nowhere.gguf: cannot open: No such file or directory"},
           {{"--model", "/", "q"}, "/: not a regular file"},
           {{"--model", path(truncated), "q"}, path(truncated) + ": byte "},
           {{"--model", path(cut), "q"}, path(cut) + ": byte "},
           {{"--model", path(latin), "q"}, path(latin) + ": byte 0: not a GGUF file"},
           {{"--model", path(untalking), "q"}, path(untalking) + ": the model has no chat template; --raw"},
           {{"--model", path(smaller), "q"}, path(smaller) + ": there are 9 tokens, but 258 rows of tensor"},
           {{}, "no prompt: give a text, or --prompt-file"},
           {{""}, "no prompt: give a text, or --prompt-file"},
           {{"--prompt-file", "-"}, "the prompt on standard input is empty"},
           {{"--prompt-file", path(empty)}, "prompt file '" + path(empty) + "' is empty"},
           {{"--prompt-file", path(binary)}, "prompt file '" + path(binary) + "' is not text: byte 1 is zero"},
           {{"--prompt-file", path(latin)}, "prompt file '" + path(latin) + "' is not text: byte 3 is not UTF-8"},
           {{"--prompt-file", "/nowhere"}, "prompt file '/nowhere' cannot be read"},
           {{"--prompt-file", "/"}, "prompt file '/' is a folder"},
           {{"--prompt-file", path(binary), "q"}, "both a prompt and --prompt-file are given"},
           {{"caf\xe9"}, "the prompt is not text: byte 3 is not UTF-8"},
           {{"--context", "3", "--raw", "abcd"}, "the prompt has 4 tokens, the program has room for 3"},
           {{"--temperature", "-1", "q"}, "--temperature: '-1' is not a number of 0 or more" + help, 2},
           {{"--temperature", "nan", "q"}, "--temperature: 'nan' is not a number of 0 or more" + help, 2},
           {{"--temperature", "1x", "q"}, "--temperature: '1x' is not a number of 0 or more" + help, 2},
           {{"--top-p", "1.5", "q"}, "--top-p: '1.5' is not a number from 0 to 1" + help, 2},
           {{"--top-k", "-1", "q"}, "--top-k: '-1' is not a whole number from 0 to 2147483647" + help, 2},
           {{"--max-tokens", "2.5", "q"}, "--max-tokens: '2.5' is not a whole number from 0 to 1073741824" + help, 2},
           {{"--seed", "99999999999", "q"}, "--seed: '99999999999' is not a whole number from -2147483648", 2},
           {{"--workers", "5000", "q"}, "--workers: '5000' is not a whole number from 0 to 4096" + help, 2},
           {{"--workers", "", "q"}, "--workers: '' is not a whole number from 0 to 4096" + help, 2},
           {{"--what", "q"}, "The following argument was not expected: --what" + help, 2},
           {{"two", "texts"}, "The following argument was not expected: texts" + help, 2},
       }) {
    auto const refused = run(std::ranges::count(given, "--model") == 0 ? generate(given) : [&] {
      arguments all{MK_GENERATE};
      all.insert(all.end(), given.begin(), given.end());
      return all;
    }());
    EXPECT_EQ(refused.code, code) << refused.err;
    EXPECT_EQ(refused.out, "");
    EXPECT_TRUE(refused.err.starts_with("mk-generate: error: " + line)) << refused.err << " is not: " << line;
    EXPECT_EQ(std::ranges::count(refused.err, '\n'), 1) << refused.err;
  }
}

// A second is the limit on an idle machine.
TEST_F(CommandLine, EndsCleanlyAtCtrlC) {
  process running(generate({"--raw", "--context", "200000", "--max-tokens", "200000", "a"}));
  running.wait_for_output(500);
  running.send(SIGINT);
  auto const e = running.wait();
  EXPECT_EQ(e.code, 130);
  EXPECT_LT(e.seconds, 3);
  EXPECT_EQ(valid_utf8_prefix(e.out), e.out.size());
  EXPECT_TRUE(e.out.starts_with("\u20acb\u00e9a\u20acb\u00e9a")) << e.out.substr(0, 40);
  EXPECT_TRUE(e.out.ends_with("\n"));
  EXPECT_TRUE(e.err.ends_with(", interrupted\n")) << e.err;
}

TEST_F(CommandLine, EndsCleanlyAtCtrlCWithinThePrompt) {
  std::string const long_prompt(120000, 'x');
  temporary_file const prompt("long.txt", std::as_bytes(std::span(long_prompt)));
  process running(generate({"--raw", "--context", "200000", "--prompt-file", prompt.path().string()}));
  running.wait_for_message("device: ");
  running.send(SIGINT);
  auto const e = running.wait();
  EXPECT_EQ(e.code, 130);
  EXPECT_LT(e.seconds, 3);
  EXPECT_EQ(e.out, "\n");
  EXPECT_TRUE(e.err.ends_with(" 0 tokens, 0.0 tokens/s, interrupted\n")) << e.err;
}

TEST_F(CommandLine, EndsWhenNobodyReads) {
  process running(generate({"--raw", "--context", "200000", "--max-tokens", "200000", "a"}));
  running.wait_for_output(1);
  running.close_out();
  auto const e = running.wait();
  EXPECT_EQ(e.code, 128 + SIGPIPE);
  EXPECT_LT(e.seconds, 3);
}

} // namespace
} // namespace mk::test
