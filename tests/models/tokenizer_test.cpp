#include <megakernels/ops/error.hpp>

#include "../weights/gguf_writer.hpp"
#include "model_path.hpp"
#include "models/text/bpe_tokenizer.hpp"
#include "tiny_vocabulary.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace mk::test {
namespace {

using pieces = std::vector<std::string_view>;
using ids = std::vector<token_id>;

std::vector<std::pair<std::string, std::string>> const hello_merges = {
    {"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}, {" ", "w"}, {"o", "r"}, {" w", "or"},
};
constexpr token_id hello = 259, world_stem = 262;

std::string error_of(auto action) {
  try {
    action();
  } catch (error const& refused) {
    return refused.what();
  }
  return "";
}

void expect_error(auto action, std::string const& part) {
  auto const message = error_of(action);
  EXPECT_NE(message.find(part), std::string::npos) << "\"" << message << "\" lacks \"" << part << "\"";
}

TEST(PreTokenizer, CutsAsGpt2) {
  pre_tokenizer const gpt2("gpt-2");
  EXPECT_EQ(gpt2.split("Hello  world's 123\n\n x"), (pieces{"Hello", " ", " world", "'s", " 123", "\n\n", " x"}));
  EXPECT_EQ(gpt2.split("I'LL 'll"), (pieces{"I", "'", "LL", " '", "ll"}));
  EXPECT_EQ(gpt2.split("x  "), (pieces{"x", "  "}));
  EXPECT_EQ(gpt2.split(""), pieces{});
  EXPECT_EQ(gpt2.split("\xe6\x97\xa5!"), (pieces{"\xe6\x97\xa5", "!"}));
  // U+180E is no white space, U+0085 and U+3000 are.
  EXPECT_EQ(gpt2.split("a \xe1\xa0\x8e"), (pieces{"a", " \xe1\xa0\x8e"}));
  EXPECT_EQ(gpt2.split("a \xc2\x85\xe3\x80\x80"), (pieces{"a", " \xc2\x85\xe3\x80\x80"}));
}

TEST(PreTokenizer, CutsAsSmollm) {
  pre_tokenizer const smollm("smollm");
  EXPECT_EQ(smollm.split("a 12 b"), (pieces{"a", " ", "1", "2", " b"}));
  EXPECT_EQ(smollm.split("3.14"), (pieces{"3", ".", "1", "4"}));
  EXPECT_EQ(smollm.split("  7"), (pieces{"  ", "7"}));
}

TEST(PreTokenizer, CutsAsLlama3) {
  for (auto const name : {"llama-bpe", "llama3", "llama-v3"}) {
    pre_tokenizer const llama(name);
    EXPECT_EQ(llama.split("I'LL pay 12345!\n\nok"), (pieces{"I", "'LL", " pay", " ", "123", "45", "!\n\n", "ok"}));
    EXPECT_EQ(llama.split("(x)\r\n  y"), (pieces{"(x", ")\r\n", " ", " y"}));
  }
}

TEST(PreTokenizer, TakesInvalidBytesSingly) {
  pre_tokenizer const gpt2("gpt-2");
  EXPECT_EQ(gpt2.split("ab\xff\xfe cd"), (pieces{"ab", "\xff", "\xfe", " cd"}));
  EXPECT_EQ(gpt2.split("a \xe6\x97"), (pieces{"a", " ", "\xe6", "\x97"}));
}

TEST(PreTokenizer, RefusesUnknownRulesByName) {
  expect_error([] { pre_tokenizer const unknown("deepseek-coder"); }, "\"deepseek-coder\" is not known");
  tiny_vocabulary tiny({});
  tiny.data.pre = "tekken";
  expect_error([&] { bpe_tokenizer const unknown(tiny.data); }, "tiny.gguf: tokenizer.ggml.pre: ");
}

TEST(BpeMerges, AgreesWithTryingEveryPair) {
  std::mt19937 random(6);
  constexpr token_id letters = 4;
  std::vector<std::pair<token_id, token_id>> pairs; // of rank i, making the token letters + i
  bpe_merges merges;
  for (token_id i = 0; i < 60; ++i) {
    auto const known = static_cast<unsigned>(letters + i);
    std::pair const pair(static_cast<token_id>(random() % known), static_cast<token_id>(random() % known));
    pairs.push_back(pair);
    merges.add(pair.first, pair.second, letters + i, static_cast<std::uint32_t>(i));
  }
  auto const naive = [&](ids tokens) {
    for (;;) {
      auto best = pairs.end();
      std::size_t at = 0;
      for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        auto const found = std::ranges::find(pairs, std::pair(tokens[i], tokens[i + 1]));
        if (found < best) std::tie(best, at) = std::pair(found, i);
      }
      if (best == pairs.end()) return tokens;
      tokens[at] = letters + static_cast<token_id>(best - pairs.begin());
      tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
  };
  for (int round = 0; round < 3000; ++round) {
    ids tokens(random() % 40);
    for (auto& token : tokens) token = static_cast<token_id>(random() % letters);
    auto const expected = naive(tokens);
    merges.apply(tokens);
    ASSERT_EQ(tokens, expected);
  }
}

TEST(Tokenizer, MergesWithinPieces) {
  bpe_tokenizer const tokenizer(tiny_vocabulary(hello_merges).data);
  EXPECT_EQ(tokenizer.encode("hello"), ids{hello});
  EXPECT_EQ(tokenizer.encode("hello world"), (ids{hello, world_stem, 'l', 'd'}));
  EXPECT_EQ(tokenizer.encode("hell"), ids{258});
  EXPECT_EQ(tokenizer.encode("hel"), (ids{256, 'l'}));
  EXPECT_EQ(tokenizer.encode(""), ids{});
  EXPECT_EQ(tokenizer.decode(ids{hello, world_stem, 'l', 'd'}), "hello world");
  EXPECT_EQ(tokenizer.size(), 256 + hello_merges.size());
}

TEST(Tokenizer, EveryByteRoundTrips) {
  bpe_tokenizer const tokenizer(tiny_vocabulary(hello_merges).data);
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string text(random() % 50, ' ');
    for (auto& c : text) c = static_cast<char>(random() % 3 == 0 ? random() : "hello w"[random() % 7]);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
  EXPECT_EQ(tokenizer.encode("\xff\x80"), (ids{0xff, 0x80}));
}

TEST(Tokenizer, ParsesSpecialTokensWhenAsked) {
  tiny_vocabulary tiny(hello_merges);
  auto const control = tiny.add_text("<|end|>", token_type::control);
  auto const longer = tiny.add_text("<|end|>!", token_type::control);
  auto const user = tiny.add_text("<think>", token_type::user_defined);
  bpe_tokenizer const tokenizer(tiny.data);
  encode_options const parse{.parse_special = true};
  EXPECT_EQ(tokenizer.encode("hello<|end|>hello", parse), (ids{hello, control, hello}));
  EXPECT_EQ(tokenizer.encode("<|end|><|end|>!<|end|>", parse), (ids{control, longer, control}));
  EXPECT_EQ(tokenizer.encode("<|end|>").size(), 7u);
  EXPECT_EQ(tokenizer.encode("<think>hello"), (ids{user, hello}));
  EXPECT_EQ(tokenizer.decode(control), "<|end|>");
  EXPECT_TRUE(tokenizer.is_control(control));
  EXPECT_FALSE(tokenizer.is_control(user));
}

TEST(Tokenizer, BeginsTextsWhereTheVocabularyMeansTo) {
  tiny_vocabulary tiny(hello_merges);
  tiny.data.begin = tiny.add_text("<s>", token_type::control);
  EXPECT_EQ(bpe_tokenizer(tiny.data).encode("hello"), ids{hello});
  tiny.data.add_begin = true;
  bpe_tokenizer const tokenizer(tiny.data);
  EXPECT_EQ(tokenizer.encode("hello"), (ids{*tiny.data.begin, hello}));
  EXPECT_EQ(tokenizer.encode("hello", {.add_begin = false}), ids{hello});
}

TEST(Tokenizer, TakesWholePiecesWhereMergesAreIgnored) {
  tiny_vocabulary tiny(hello_merges);
  auto const unreachable = tiny.add("hel");
  EXPECT_EQ(bpe_tokenizer(tiny.data).encode("hel"), (ids{256, 'l'}));
  tiny.data.pre = "llama-bpe";
  EXPECT_EQ(bpe_tokenizer(tiny.data).encode("hel"), ids{unreachable});
}

TEST(Tokenizer, LeavesOutBytesWithoutToken) {
  tiny_vocabulary tiny(hello_merges);
  tiny.data.types[0x04] = token_type::unused;
  tiny.data.tokens[0x04] = "unused";
  EXPECT_EQ(bpe_tokenizer(tiny.data).encode("hell\x04o"), (ids{258, 'o'}));
}

TEST(Tokenizer, RefusesBrokenVocabularies) {
  auto const with_merge = [](std::string const& merge) {
    tiny_vocabulary tiny(hello_merges);
    tiny.data.merges.push_back(merge);
    return error_of([&] { bpe_tokenizer const broken(tiny.data); });
  };
  for (auto const* const merge : {"", "ab", "a b c", "a x y", "h zz", "zz h", "x y", " a", "a "})
    EXPECT_TRUE(with_merge(merge).starts_with("tiny.gguf: tokenizer.ggml.merges: element 7, ")) << merge;
  tiny_vocabulary tiny({});
  tiny.data.types.pop_back();
  expect_error([&] { bpe_tokenizer const broken(tiny.data); }, "255 token types for 256 tokens");
  bpe_tokenizer const tokenizer(tiny_vocabulary({}).data);
  expect_error([&] { static_cast<void>(tokenizer.decode(-1)); }, "token -1 is outside a vocabulary of 256");
  expect_error([&] { static_cast<void>(tokenizer.decode(256)); }, "token 256");
}

/// The metadata of a vocabulary of three tokens; `add` puts more entries behind them, `count` of them.
tokenizer_data read_with(std::uint64_t count, auto add, std::string const& model = "gpt2") {
  gguf_writer writer;
  writer.header(0, 4 + count)
      .entry("tokenizer.ggml.model", model)
      .strings("tokenizer.ggml.tokens", {"a", "<|eot_id|>", "b"})
      .strings("tokenizer.ggml.merges", {})
      .array<std::int32_t>("tokenizer.ggml.token_type", gguf_type::int32, {1, 3, 1});
  add(writer);
  temporary_file const file("vocabulary.gguf", writer.bytes());
  return read_tokenizer_data(gguf_file(file.path()));
}

TEST(TokenizerData, ReadsMetadata) {
  auto const data = read_with(6, [](gguf_writer& to) {
    to.entry("tokenizer.ggml.pre", "smollm")
        .entry("tokenizer.ggml.bos_token_id", gguf_type::uint32, std::uint32_t{2})
        .entry("tokenizer.ggml.add_bos_token", gguf_type::boolean, std::uint8_t{1})
        .entry("tokenizer.ggml.eos_token_id", gguf_type::uint32, std::uint32_t{2})
        .entry("tokenizer.ggml.eot_token_id", gguf_type::uint32, std::uint32_t{0})
        .entry("tokenizer.chat_template", "{{ it }}");
  });
  EXPECT_EQ(data.tokens, (std::vector<std::string>{"a", "<|eot_id|>", "b"}));
  EXPECT_EQ(data.pre, "smollm");
  EXPECT_EQ(data.begin, 2);
  EXPECT_TRUE(data.add_begin);
  EXPECT_EQ(data.ends, (ids{0, 1, 2})); // by key, by text, by key
  EXPECT_EQ(data.chat_template, "{{ it }}");
  EXPECT_EQ(data.special("<|eot_id|>"), 1);
  EXPECT_EQ(data.special("a"), std::nullopt);
}

TEST(TokenizerData, HonoursSeveralEndTokensAndNone) {
  auto const none = read_with(0, [](gguf_writer&) {});
  EXPECT_EQ(none.ends, ids{1});
  EXPECT_EQ(none.begin, std::nullopt);
  EXPECT_EQ(none.pre, "default");
  auto const several = read_with(
      1, [](gguf_writer& to) { to.array<std::uint32_t>("tokenizer.ggml.eos_token_id", gguf_type::uint32, {2, 0, 2}); });
  EXPECT_EQ(several.ends, (ids{0, 1, 2}));
}

TEST(TokenizerData, RefusesWhatItCannotUse) {
  auto const nothing = [](gguf_writer&) {};
  expect_error([&] { read_with(0, nothing, "llama"); }, "tokenizer.ggml.model\" is \"llama\"");
  auto const id = [](char const* key, std::int32_t value) {
    return [=](gguf_writer& to) { to.entry(key, gguf_type::int32, value); };
  };
  expect_error([&] { read_with(1, id("tokenizer.ggml.eos_token_id", 3)); }, "the vocabulary has 3 tokens");
  expect_error([&] { read_with(1, id("tokenizer.ggml.eot_token_id", -1)); }, "is -1");
  expect_error([&] { read_with(1, id("tokenizer.ggml.bos_token_id", 1 << 30)); }, "the vocabulary has 3 tokens");
  expect_error([&] { read_with(1, [](auto& to) { to.entry("tokenizer.ggml.pre", "llama-bpe"); }); },
               "bos_token_id\" is missing");
}

class SmolLm2 : public testing::Test {
protected:
  void SetUp() override { MK_REQUIRE_MODEL(); }

  static bpe_tokenizer tokenizer() { return bpe_tokenizer(read_tokenizer_data(gguf_file(model_path()))); }
};

TEST_F(SmolLm2, MatchesGoldenIds) {
#ifdef MK_GOLDEN_DIR
  std::ifstream in(MK_GOLDEN_DIR "/tokenizer_smollm2.json");
  ASSERT_TRUE(in.is_open());
  auto const golden = nlohmann::json::parse(in);
  auto const smollm = tokenizer();
  ASSERT_GE(golden.at("cases").size(), 100u);
  for (auto const& known : golden.at("cases")) {
    auto const text = known.at("text").get<std::string>();
    auto const expected = known.at("ids").get<ids>();
    EXPECT_EQ(smollm.encode(text, {.parse_special = known.value("special", false)}), expected) << known.at("text");
    auto const is_lossless = known.value("lossless", true);
    EXPECT_EQ(smollm.decode(expected) == text, is_lossless) << known.at("text");
  }
#else
  GTEST_SKIP() << "built without MK_GOLDEN_DIR, the folder of tokenizer_smollm2.json";
#endif
}

TEST_F(SmolLm2, EncodesLongTextsSoon) {
  auto const smollm = tokenizer();
  constexpr std::size_t length = 100000;
  std::string prose;
  while (prose.size() < length) prose += "The lighthouse had been dark for 11 years; then, at last, a letter came.\n";
  std::string letters(length, 'a');
  std::mt19937 random(8);
  for (auto& c : letters) c = static_cast<char>('a' + random() % 26);
  for (auto const& text :
       {prose, letters, std::string(length, 'a'), std::string(length, ' '), std::string(length, '\xff')}) {
    auto const start = std::chrono::steady_clock::now();
    static_cast<void>(smollm.encode(text));
    // Time that grows with the square of the length would be minutes.
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2)) << text.substr(0, 10);
  }
}

} // namespace
} // namespace mk::test
