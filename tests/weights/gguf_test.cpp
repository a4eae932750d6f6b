#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/weights/gguf.hpp>

#include "gguf_writer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <random>
#include <string>
#include <utility>

namespace mk::test {
namespace {

constexpr auto f32 = static_cast<std::uint32_t>(ggml_type::f32);
constexpr auto q8_0 = static_cast<std::uint32_t>(ggml_type::q8_0);
constexpr std::uint32_t q4_k = 12;

/// What parsing `writer`'s bytes throws, empty where it succeeds. Any other error fails the test.
std::string error_of(gguf_writer const& writer) {
  try {
    static_cast<void>(parse_gguf(writer.bytes(), "made.gguf"));
  } catch (file_error const& refused) {
    return refused.what();
  }
  return "";
}

void expect_refused(gguf_writer const& writer, std::string const& cause) {
  auto const start = std::chrono::steady_clock::now();
  auto const message = error_of(writer);
  auto const spent = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(message.starts_with("made.gguf: byte ")) << message;
  EXPECT_NE(message.find(cause), std::string::npos) << "\"" << message << "\" lacks \"" << cause << "\"";
  EXPECT_LT(spent, std::chrono::milliseconds(100));
}

/// One of everything that is legal.
gguf_writer small_file() {
  gguf_writer writer;
  writer.header(3, 8)
      .entry("name", "small")
      .entry("layers", gguf_type::uint32, std::uint32_t{30})
      .entry("epsilon", gguf_type::float32, 1e-5f)
      .entry("tied", gguf_type::boolean, std::uint8_t{1})
      .entry("bias", gguf_type::int16, std::int16_t{-7})
      .strings("tokens", {"a", "", "ccc"})
      .array<std::int32_t>("types", gguf_type::int32, {1, 3, 1})
      .array<float>("scores", gguf_type::float32, {0.5f, -1.0f})
      .tensor("matrix", {4, 2}, f32, 0)
      .tensor("packed", {32}, q8_0, 32)
      .tensor("scalar", {}, f32, 96)
      .pad()
      .data(100);
  return writer;
}

TEST(Gguf, ReadsWhatWasWritten) {
  temporary_file const file("small.gguf", small_file().bytes());
  gguf_file moved(file.path());
  gguf_file const read = std::move(moved);
  EXPECT_EQ(read.version(), 3u);
  EXPECT_EQ(read.required_string("name"), "small");
  EXPECT_EQ(read.required_unsigned("layers"), 30u);
  EXPECT_EQ(read.required_float("epsilon"), static_cast<double>(1e-5f));
  EXPECT_EQ(read.required_float("layers"), 30.0);
  EXPECT_TRUE(read.required_bool("tied"));
  EXPECT_EQ(read.required_integers("bias"), std::vector<std::int64_t>{-7});
  EXPECT_EQ(read.required_integers("types"), (std::vector<std::int64_t>{1, 3, 1}));
  auto const tokens = read.required_strings("tokens");
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens[1], "");
  EXPECT_EQ(tokens[2], "ccc");
  auto const& scores = std::get<packed_view<float>>(read.find("scores")->value);
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[1], -1.0f);

  auto const& matrix = read.required_tensor("matrix");
  EXPECT_EQ(matrix.extents, (std::vector<std::uint64_t>{2, 4}));
  EXPECT_EQ(matrix.row_elements(), 4u);
  EXPECT_EQ(matrix.row_count(), 2u);
  EXPECT_EQ(matrix.bytes.size(), 32u);
  EXPECT_EQ(matrix.offset % 32, 0u);
  auto const& scalar = read.required_tensor("scalar");
  EXPECT_EQ(scalar.element_count(), 1u);
  EXPECT_EQ(scalar.bytes.size(), 4u);
  EXPECT_EQ(read.find_tensor("absent"), nullptr);
}

TEST(Gguf, AccessorsNameKeyPlaceAndType) {
  temporary_file const file("accessors.gguf", small_file().bytes());
  gguf_file const read(file.path());
  auto const message_of = [&](auto access) -> std::string {
    try {
      access();
    } catch (file_error const& refused) {
      return refused.what();
    }
    return "no error";
  };
  EXPECT_EQ(message_of([&] { static_cast<void>(read.required_unsigned("absent")); }),
            read.name() + ": metadata \"absent\" is missing");
  EXPECT_EQ(message_of([&] { static_cast<void>(read.required_unsigned("bias")); }),
            read.name() + ": byte " + std::to_string(read.find("bias")->offset) +
                ": metadata \"bias\" is negative: -7");
  for (auto const key : {"name", "epsilon", "tied", "tokens"})
    EXPECT_NE(message_of([&] { static_cast<void>(read.optional_unsigned(key)); }).find("is of type "),
              std::string::npos);
  EXPECT_THROW(static_cast<void>(read.required_string("layers")), file_error);
  EXPECT_THROW(static_cast<void>(read.required_bool("layers")), file_error);
  EXPECT_THROW(static_cast<void>(read.required_strings("types")), file_error);
  EXPECT_THROW(static_cast<void>(read.required_integers("scores")), file_error);
  EXPECT_THROW(static_cast<void>(read.required_float("name")), file_error);
  EXPECT_THROW(static_cast<void>(read.required_tensor("absent")), file_error);
  EXPECT_EQ(read.optional_string("absent"), std::nullopt);
  EXPECT_FALSE(read.optional_strings("absent"));
  EXPECT_FALSE(read.optional_integers("absent"));
}

TEST(Gguf, RefusesAFileCutAnywhere) {
  auto const whole = small_file().bytes();
  ASSERT_NO_THROW(static_cast<void>(parse_gguf(whole, "whole.gguf")));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // A copy of its own, so that a sanitizer sees a read behind the end.
    std::vector<std::byte> const cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(static_cast<void>(parse_gguf(cut, "cut.gguf")), file_error) << size;
  }
  temporary_file const file("cut.gguf", std::span(whole).first(whole.size() - 1));
  EXPECT_THROW(gguf_file{file.path()}, file_error);
}

TEST(Gguf, RefusesWhatIsNotAFile) {
  EXPECT_THROW(gguf_file{testing::TempDir() + "no-such-file.gguf"}, file_error);
  EXPECT_THROW(gguf_file{testing::TempDir()}, file_error);
  temporary_file const empty("empty.gguf", {});
  EXPECT_THROW(gguf_file{empty.path()}, file_error);
}

TEST(Gguf, RefusesOtherFormats) {
  expect_refused(gguf_writer().text("safetensors").data(64), "not a GGUF file");
  for (auto const version : {0u, 1u, 4u, 0xffffffffu})
    expect_refused(gguf_writer().header(0, 0, version), "GGUF version " + std::to_string(version));
  expect_refused(gguf_writer().header(0, 0, 0x03000000u), "big-endian");
  EXPECT_EQ(error_of(gguf_writer().header(0, 0, 2)), "");
  EXPECT_EQ(error_of(gguf_writer().header(0, 0, 3)), "");
}

TEST(Gguf, RefusesHugeCountsAtOnce) {
  for (auto const huge : {std::uint64_t{1} << 60, std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{1} << 32}) {
    expect_refused(gguf_writer().header(huge, 0), "the number of tensors is " + std::to_string(huge));
    expect_refused(gguf_writer().header(0, huge), "the number of metadata entries is " + std::to_string(huge));
    expect_refused(gguf_writer().header(0, 1).number(huge).data(64), "a metadata key needs");
    expect_refused(gguf_writer().header(0, 1).text("k").number(gguf_type::string).number(huge), "a string needs");
    for (auto const type : {gguf_type::uint8, gguf_type::float64, gguf_type::string})
      expect_refused(gguf_writer().header(0, 1).text("k").number(gguf_type::array).number(type).number(huge).data(64),
                     "an array's length is " + std::to_string(huge));
    expect_refused(gguf_writer().header(1, 0).number(huge).data(64), "a tensor's name needs");
    expect_refused(gguf_writer().header(1, 0).tensor("t", {huge, 3, 1u << 31}, f32, 0).pad().data(64),
                   huge > 1u << 31 ? "has more than 2^63-1 elements" : "elements of type F32");
    expect_refused(gguf_writer().header(1, 0).tensor("t", {1}, f32, huge - huge % 32).pad().data(64), "starts at");
  }
}

TEST(Gguf, RefusesLengthsNearTheFileSize) {
  gguf_writer const whole = gguf_writer().header(0, 1).text("k").number(gguf_type::string).text("0123456789");
  auto const length_at = whole.bytes().size() - 18;
  for (std::uint64_t length = 0; length < 64; ++length) {
    auto bytes = whole.bytes();
    std::memcpy(bytes.data() + length_at, &length, sizeof(length));
    if (length <= 10)
      EXPECT_NO_THROW(static_cast<void>(parse_gguf(bytes, "made.gguf"))) << length;
    else
      EXPECT_THROW(static_cast<void>(parse_gguf(bytes, "made.gguf")), file_error) << length;
  }
}

TEST(Gguf, RefusesRepeatedNames) {
  expect_refused(gguf_writer().header(0, 2).entry("k", "1").entry("k", "2"), "metadata \"k\" is repeated");
  expect_refused(gguf_writer().header(2, 0).tensor("t", {1}, f32, 0).tensor("t", {1}, f32, 32).pad().data(64),
                 "tensor \"t\" is repeated");
}

TEST(Gguf, RefusesValuesOutsideTheFormat) {
  expect_refused(gguf_writer().header(0, 1).entry("k", gguf_type::boolean, std::uint8_t{2}), "a bool is 2");
  expect_refused(gguf_writer().header(0, 1).array<std::uint8_t>("k", gguf_type::boolean, {0, 1, 7}), "a bool is 7");
  expect_refused(gguf_writer().header(0, 1).text("k").number(std::uint32_t{13}).data(64), "unknown type 13");
  expect_refused(gguf_writer().header(0, 1).text("k").number(gguf_type::array).number(std::uint32_t{13}).data(64),
                 "unknown element type 13");
  expect_refused(gguf_writer().header(0, 1).text("k").number(gguf_type::array).number(gguf_type::array).data(64),
                 "an array of arrays");
  expect_refused(gguf_writer().header(1, 0).text("t").number(std::uint32_t{5}).data(128), "has 5 dimensions");
  expect_refused(gguf_writer().header(0, 1).entry("\x01" + std::string(100, 'x') + "\n", gguf_type::uint32, 'c'), "");
}

TEST(Gguf, ChecksAlignment) {
  auto const aligned = [](std::uint32_t alignment, std::uint64_t offset) {
    gguf_writer writer;
    writer.header(1, 1).entry("general.alignment", gguf_type::uint32, alignment).tensor("t", {2}, f32, offset);
    if (alignment != 0) writer.pad(alignment);
    return writer.data(72);
  };
  EXPECT_EQ(error_of(aligned(8, 8)), "");
  EXPECT_EQ(error_of(aligned(64, 64)), "");
  expect_refused(aligned(32, 8), "has offset 8, not a multiple of 32");
  expect_refused(aligned(0, 0), "power of two");
  expect_refused(aligned(24, 0), "power of two");
  expect_refused(gguf_writer().header(0, 1).entry("general.alignment", "32"), "power of two");
  expect_refused(gguf_writer().header(1, 0).tensor("t", {1}, f32, 31).pad().data(64), "not a multiple of 32");
}

TEST(Gguf, ChecksThatTensorsFit) {
  auto const placed = [](std::vector<std::uint64_t> const& extents, std::uint32_t type, std::uint64_t offset) {
    return gguf_writer().header(1, 0).tensor("t", extents, type, offset).pad().data(96);
  };
  EXPECT_EQ(error_of(placed({24}, f32, 0)), "");
  EXPECT_EQ(error_of(placed({16}, f32, 32)), "");
  EXPECT_EQ(error_of(placed({0, 4}, f32, 96)), "");
  expect_refused(placed({25}, f32, 0), "25 elements of type F32, the file has 96 bytes");
  expect_refused(placed({17}, f32, 32), "17 elements of type F32, the file has 64 bytes");
  expect_refused(placed({1}, f32, 96), "the file has 0 bytes");
  expect_refused(placed({1}, f32, 128), "starts at 128 of 96 bytes");
  expect_refused(placed({33}, q8_0, 0), "needs a multiple of 32");
  expect_refused(placed({32, 3}, q8_0, 0), "96 elements of type Q8_0");
  expect_refused(placed({std::numeric_limits<std::int64_t>::max()}, f32, 0), "elements of type F32");
  expect_refused(placed({0, std::uint64_t{1} << 62, 4}, f32, 0), "more than 2^63-1");
}

TEST(Gguf, TakesTensorsWithoutElements) {
  gguf_writer const writer = gguf_writer()
                                 .header(3, 0)
                                 .tensor("rows", {4, 0}, f32, 0)
                                 .tensor("wide", {0, 4}, f32, 0)
                                 .tensor("q", {32, 0}, q8_0, 0);
  auto const contents = parse_gguf(writer.bytes(), "made.gguf");
  for (auto const& tensor : contents.tensors) {
    EXPECT_EQ(tensor.element_count(), 0u) << tensor.name;
    EXPECT_TRUE(tensor.bytes.empty());
  }
}

TEST(Gguf, RefusesUnknownTypesWhenTheyAreUsed) {
  gguf_writer writer;
  writer.header(3, 0)
      .tensor("good", {2}, f32, 0)
      .tensor("k", {256}, q4_k, 32)
      .tensor("odd", {7}, 777, 32)
      .pad()
      .data(64);
  temporary_file const file("types.gguf", writer.bytes());
  gguf_file const read(file.path());
  EXPECT_EQ(read.required_tensor("good").bytes.size(), 8u);
  for (auto const& [name, type] : {std::pair{"k", "type Q4_K"}, std::pair{"odd", "type 777"}}) {
    ASSERT_NE(read.find_tensor(name), nullptr);
    try {
      static_cast<void>(read.required_tensor(name));
      ADD_FAILURE() << name;
    } catch (file_error const& refused) {
      EXPECT_NE(std::string(refused.what()).find(type), std::string::npos) << refused.what();
    }
  }
}

TEST(Gguf, MessagesShowNamesSafely) {
  EXPECT_EQ(printable("a\n\"\xff"), "\"a\\x0a\"\\xff\"");
  EXPECT_EQ(printable(std::string(100, 'x')), "\"" + std::string(64, 'x') + "...\"");
}

TEST(Gguf, SurvivesFlippedBits) {
  auto const whole = small_file().bytes();
  std::mt19937 random(1);
  std::size_t refused = 0;
  for (int i = 0; i < 10000; ++i) {
    auto bytes = whole;
    bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
    try {
      auto const contents = parse_gguf(bytes, "flipped.gguf");
      for (auto const& tensor : contents.tensors) {
        auto const end = tensor.offset + tensor.bytes.size();
        EXPECT_LE(end, bytes.size());
      }
    } catch (file_error const&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000u);
}

} // namespace
} // namespace mk::test
