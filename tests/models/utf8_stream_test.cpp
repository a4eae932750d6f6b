#include "models/text/byte_alphabet.hpp"
#include "models/text/utf8.hpp"
#include "models/text/utf8_stream.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace mk::test {
namespace {

constexpr std::string_view mixed = "a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x8e\x89z"; // 1, 2, 3 and 4 bytes
constexpr std::string_view replacement = "\xef\xbf\xbd";

std::string whole(std::string_view bytes) {
  utf8_stream stream;
  auto text = stream.push(bytes);
  return text += stream.flush();
}

TEST(Utf8Stream, GivesCharactersOnlyWhole) {
  for (std::size_t first = 0; first <= mixed.size(); ++first) {
    for (std::size_t second = first; second <= mixed.size(); ++second) {
      utf8_stream stream;
      std::string text;
      for (auto const part : {mixed.substr(0, first), mixed.substr(first, second - first), mixed.substr(second)}) {
        text += stream.push(part);
        EXPECT_EQ(valid_utf8_prefix(text), text.size());
      }
      EXPECT_EQ(text, mixed);
      EXPECT_EQ(stream.flush(), "");
    }
  }
}

TEST(Utf8Stream, GivesAsciiAtOnce) {
  utf8_stream stream;
  EXPECT_EQ(stream.push("a"), "a");
  EXPECT_EQ(stream.push("\xe6"), "");
  EXPECT_EQ(stream.push("\x97"), "");
  EXPECT_EQ(stream.push("\xa5"), "\xe6\x97\xa5");
  EXPECT_EQ(stream.push(""), "");
}

TEST(Utf8Stream, ReplacesWhatIsNoCharacter) {
  // The examples of Unicode 15, tables 3-8 and following, with one mark for each longest part.
  std::pair<std::string_view, int> const cases[] = {
      {"\x80", 1},         {"\xff", 1},         {"\xc0\xaf", 2},         {"\xc1\xbf", 2},         {"\xe0\x80\x80", 3},
      {"\xed\xa0\x80", 3}, {"\xf0\x80\x80", 3}, {"\xf4\x91\x92\x93", 4}, {"\xf5\x80", 2},         {"\xe6\x97", 1},
      {"\xf0\x9f\x8e", 1}, {"\xc3", 1},         {"\xe1\x80\xe2", 2},     {"\xf1\x80\x80\xc3", 2},
  };
  for (auto const& [bytes, marks] : cases) {
    std::string expected;
    for (int i = 0; i < marks; ++i) expected += replacement;
    EXPECT_EQ(whole(bytes), expected);
    EXPECT_EQ(whole(std::string(bytes) + "x"), expected + "x");
    EXPECT_EQ(whole("x" + std::string(bytes)), "x" + expected);
  }
}

TEST(Utf8Stream, FlushEndsTheText) {
  utf8_stream stream;
  EXPECT_EQ(stream.push("a\xf0\x9f"), "a");
  EXPECT_EQ(stream.flush(), replacement);
  EXPECT_EQ(stream.flush(), "");
  EXPECT_EQ(stream.push("\x8e"), replacement); // not joined with what came before
}

TEST(Utf8Stream, AnyBytesCutAnywhereGiveTheSameText) {
  std::mt19937 random(2);
  constexpr std::string_view letters = "a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x8e\x89\x80\xff\xed\xa0\xf4";
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (auto count = random() % 24; count > 0; --count) bytes += letters[random() % letters.size()];
    utf8_stream stream;
    std::string text;
    for (std::size_t at = 0; at < bytes.size();) {
      auto const length = 1 + random() % 4;
      text += stream.push(std::string_view(bytes).substr(at, length));
      at += length;
    }
    text += stream.flush();
    EXPECT_EQ(text, whole(bytes));
    EXPECT_EQ(valid_utf8_prefix(text), text.size());
  }
}

TEST(Utf8, EveryCodePointRoundTrips) {
  for (std::uint32_t code_point = 0; code_point <= 0x10ffff; ++code_point) {
    std::string text;
    append_utf8(text, code_point);
    auto const step = first_of_utf8(text);
    if (code_point >= 0xd800 && code_point < 0xe000) {
      ASSERT_EQ(step.state, utf8_state::invalid) << code_point;
    } else {
      ASSERT_EQ(step.state, utf8_state::complete) << code_point;
      ASSERT_EQ(step.bytes, text.size());
      ASSERT_EQ(code_point_of(text), code_point);
    }
  }
}

TEST(ByteAlphabet, StandsForEveryByteOnce) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  auto const text = alphabet_of_bytes(bytes);
  EXPECT_EQ(bytes_of_alphabet(text), bytes);
  EXPECT_EQ(valid_utf8_prefix(text), text.size());
  EXPECT_EQ(alphabet_of_bytes(" \n!a\x7f"), "\xc4\xa0\xc4\x8a!a\xc4\xa1");
  EXPECT_EQ(bytes_of_alphabet(" "), std::nullopt);
  EXPECT_EQ(bytes_of_alphabet("\xe6\x97\xa5"), std::nullopt);
  EXPECT_EQ(bytes_of_alphabet("\xc4"), std::nullopt);
  EXPECT_EQ(bytes_of_alphabet(""), "");
}

} // namespace
} // namespace mk::test
