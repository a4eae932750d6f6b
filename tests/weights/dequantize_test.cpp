#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/weights/dequantize.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace mk::test {
namespace {

using block_bytes = std::vector<std::uint8_t>;

/// Scales that a conversion from fp16 may get wrong: zeros, subnormals, the least and largest normal, infinities, NaN.
constexpr std::uint16_t odd_halves[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400,
                                        0x3c00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00};

/// fp16 by its definition.
float half_value(unsigned bits) {
  auto const exponent = static_cast<int>(bits >> 10 & 31);
  auto const mantissa = static_cast<int>(bits & 1023);
  double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 31) magnitude = mantissa == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  return static_cast<float>((bits & 0x8000) != 0 ? -magnitude : magnitude);
}

float half_at(block_bytes const& block, std::size_t at) { return half_value(block[at] | unsigned{block[at + 1]} << 8); }

/// Element `i` of a block of `type`, each on its own.
float element(ggml_type type, block_bytes const& block, std::size_t i) {
  auto const nibble = [&](std::size_t at) {
    return static_cast<int>(i < 16 ? block[at + i] % 16 : block[at + i - 16] / 16);
  };
  switch (type) {
  case ggml_type::f16:
    return half_at(block, 0);
  case ggml_type::bf16:
    return std::bit_cast<float>((block[0] | std::uint32_t{block[1]} << 8) << 16);
  case ggml_type::q4_0:
    return half_at(block, 0) * static_cast<float>(nibble(2) - 8);
  case ggml_type::q4_1:
    return half_at(block, 0) * static_cast<float>(nibble(4)) + half_at(block, 2);
  case ggml_type::q8_0:
    return half_at(block, 0) * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
  case ggml_type::q6_k: {
    auto const low_byte = block[i / 128 * 64 + i % 64];
    auto const low = i % 128 < 64 ? low_byte % 16 : low_byte / 16;
    auto const high = block[128 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    auto const scale = static_cast<float>(static_cast<std::int8_t>(block[192 + i / 16]));
    return half_at(block, 208) * scale * static_cast<float>(low + 16 * high - 32);
  }
  default: {
    float value;
    std::memcpy(&value, block.data(), sizeof(value));
    return value;
  }
  }
}

void expect_same(float got, float expected, std::string const& where) {
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(got)) << where;
  else
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(expected)) << where;
}

std::vector<float> values_of(ggml_type type, block_bytes const& bytes) {
  auto const block = *block_of(type);
  std::vector<float> values(bytes.size() / block.bytes * block.elements);
  dequantize(type, std::as_bytes(std::span(bytes)), values);
  return values;
}

struct half_places {
  ggml_type type;
  std::vector<std::size_t> halves; // where a block holds fp16 scales
};

class DequantizeType : public testing::TestWithParam<half_places> {};

TEST_P(DequantizeType, IsTheFormulaOfEachElement) {
  auto const& [type, halves] = GetParam();
  auto const block = *block_of(type);
  std::mt19937 random(3);
  block_bytes bytes;
  constexpr std::size_t blocks = 600;
  for (std::size_t b = 0; b < blocks; ++b) {
    auto const start = bytes.size();
    for (std::size_t i = 0; i < block.bytes; ++i) bytes.push_back(static_cast<std::uint8_t>(random()));
    if (b % 2 == 0) continue;
    for (auto const at : halves) {
      auto const half = odd_halves[random() % std::size(odd_halves)];
      std::memcpy(bytes.data() + start + at, &half, sizeof(half));
    }
  }
  auto const values = values_of(type, bytes);
  for (std::size_t b = 0; b < blocks; ++b) {
    auto const first = bytes.begin() + static_cast<std::ptrdiff_t>(b * block.bytes);
    block_bytes const one(first, first + static_cast<std::ptrdiff_t>(block.bytes));
    for (std::size_t i = 0; i < block.elements; ++i)
      expect_same(values[b * block.elements + i], element(type, one, i),
                  name_of(type) + " block " + std::to_string(b) + " element " + std::to_string(i));
  }
}

INSTANTIATE_TEST_SUITE_P(All, DequantizeType,
                         testing::Values(half_places{ggml_type::f32, {}}, half_places{ggml_type::f16, {0}},
                                         half_places{ggml_type::bf16, {}}, half_places{ggml_type::q4_0, {0}},
                                         half_places{ggml_type::q4_1, {0, 2}}, half_places{ggml_type::q8_0, {0}},
                                         half_places{ggml_type::q6_k, {208}}),
                         [](auto const& tested) { return name_of(tested.param.type); });

TEST(Dequantize, EveryHalfIsExact) {
  block_bytes bytes;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    bytes.push_back(static_cast<std::uint8_t>(bits & 255));
    bytes.push_back(static_cast<std::uint8_t>(bits >> 8));
  }
  auto const values = values_of(ggml_type::f16, bytes);
  for (unsigned bits = 0; bits < 65536; ++bits) expect_same(values[bits], half_value(bits), std::to_string(bits));
}

/// Computed by gguf.quants.dequantize of the Python package gguf 0.19.
struct golden {
  ggml_type type;
  block_bytes bytes;
  std::vector<std::uint32_t> bits;
};

golden const q4_0_golden = {
    ggml_type::q4_0,
    {0x4c, 0xa2, 0x99, 0xbf, 0x50, 0x5b, 0x51, 0xb7, 0xd, 0x4c, 0xa1, 0x47, 0x52, 0x18, 0x6d, 0x5c, 0xb0, 0xfd},
    {0xbc498000, 0xbdb05000, 0x3dc98000, 0xbd172000, 0x3db05000, 0x3c498000, 0xbd7be000, 0xbd498000,
     0x3db05000, 0x3c498000, 0x3d972000, 0x80000000, 0xbd7be000, 0xbd498000, 0x3dc98000, 0xbd7be000,
     0xbc498000, 0xbd172000, 0x3d172000, 0x3d172000, 0x3d172000, 0xbd172000, 0x3dc98000, 0x3d498000,
     0xbcc98000, 0x3d498000, 0x3d172000, 0x3db05000, 0x3cc98000, 0x3d172000, 0xbd172000, 0xbdb05000},
};

golden const q4_1_golden = {
    ggml_type::q4_1,
    {0xc0, 0x28, 0xa8, 0xb4, 0xa0, 0x2d, 0xec, 0x7d, 0x84, 0x22,
     0x8c, 0x81, 0x4a, 0x25, 0xf5, 0xe7, 0xd4, 0x51, 0x5b, 0x98},
    {0xbe950000, 0x3e440000, 0x3e1e0000, 0x3e440000, 0xbe120000, 0xbe5e0000, 0x3e1e0000, 0xbe820000,
     0x3da40000, 0xbdd80000, 0xbdd80000, 0xbd000000, 0xbe120000, 0xbe820000, 0x3df00000, 0x3bc00000,
     0x3da40000, 0xbe5e0000, 0x3e6a0000, 0xbd000000, 0x3bc00000, 0xbe5e0000, 0x3bc00000, 0x3bc00000,
     0xbe120000, 0xbe5e0000, 0x3e880000, 0x3e6a0000, 0x3e440000, 0xbdd80000, 0xbdd80000, 0x3d300000},
};

golden const q8_0_golden = {
    ggml_type::q8_0,
    {0x16, 0x17, 0xf8, 0x91, 0x43, 0x46, 0xab, 0x72, 0xf2, 0xc0, 0x7d, 0x4f, 0x60, 0x17, 0x9b, 0x46, 0x59,
     0x6b, 0x8a, 0xb9, 0x1b, 0x2c, 0xf5, 0x8e, 0x7,  0xb7, 0x4f, 0xc0, 0xa8, 0xf0, 0x1b, 0xf8, 0xdf, 0x85},
    {0xbc62c000, 0xbe44a280, 0x3ded6100, 0x3df80200, 0xbe169380, 0x3e49f300, 0xbcc66800, 0xbde2c000,
     0x3e5d6f80, 0x3e0bf280, 0x3e2a1000, 0x3d22fa00, 0xbe32eb80, 0x3df80200, 0x3e1da980, 0x3e3d8c80,
     0xbe510900, 0xbdfb8d00, 0x3d3f5200, 0x3d9be400, 0xbc9be400, 0xbe49f300, 0x3c466800, 0xbe015180,
     0x3e0bf280, 0xbde2c000, 0xbe1be400, 0xbce2c000, 0x3d3f5200, 0xbc62c000, 0xbd69d600, 0xbe59e480},
};

golden const q6_k_golden = {
    ggml_type::q6_k,
    {0xb5, 0x47, 0xb2, 0xe3, 0xbb, 0x1,  0xf0, 0x83, 0x88, 0xd7, 0xd1, 0x44, 0x48, 0x72, 0xa0, 0x4e, 0x13, 0x99,
     0x75, 0x5a, 0xa6, 0xbb, 0x11, 0x2b, 0x12, 0xfd, 0x30, 0x8a, 0x2f, 0x6e, 0xa0, 0xac, 0x28, 0x8,  0xc4, 0xa1,
     0x81, 0xdf, 0x69, 0x7c, 0x4b, 0xa2, 0x48, 0x13, 0xe0, 0x54, 0x32, 0x52, 0xbb, 0xed, 0x48, 0x26, 0xa7, 0x22,
     0x77, 0x76, 0x1f, 0xf4, 0x76, 0x64, 0x84, 0x9c, 0x8d, 0xb9, 0x41, 0xfc, 0x5a, 0xd5, 0x76, 0x94, 0x6a, 0x91,
     0x6f, 0xd1, 0xbe, 0x84, 0x4a, 0xee, 0xa7, 0xa3, 0x95, 0xc3, 0xa3, 0xd1, 0x6,  0x7c, 0x68, 0xf1, 0x3a, 0x41,
     0xa7, 0x64, 0xc8, 0x5,  0x25, 0x5b, 0x5d, 0xfc, 0xb2, 0x7d, 0x6f, 0xd5, 0xd7, 0xa,  0x40, 0xb1, 0xd0, 0x75,
     0xd7, 0x2b, 0x8c, 0x84, 0xfa, 0x76, 0x22, 0x84, 0xec, 0xa2, 0x9c, 0x57, 0x11, 0xf1, 0xd5, 0xac, 0xe1, 0xb3,
     0x23, 0x4e, 0xfe, 0xc2, 0x93, 0x93, 0xd2, 0xb0, 0xf9, 0x6b, 0x5e, 0xf2, 0xb3, 0xf,  0x20, 0x98, 0x2b, 0x13,
     0xd7, 0x32, 0x49, 0x7,  0x8d, 0xa2, 0x4c, 0xff, 0x7d, 0xed, 0x72, 0xf6, 0xdb, 0xb9, 0x2a, 0x2a, 0xbb, 0x11,
     0x7f, 0x51, 0xcc, 0x76, 0xcb, 0xd5, 0x2b, 0xde, 0xf1, 0xf8, 0xd1, 0x5b, 0x38, 0xa6, 0xfc, 0xd2, 0xf6, 0x81,
     0x9e, 0xa6, 0x1e, 0x78, 0xc9, 0xda, 0x72, 0x2e, 0x6f, 0x2f, 0x59, 0xdd, 0x3b, 0xe3, 0x54, 0x39, 0x1b, 0x4,
     0x5,  0xd3, 0xc1, 0xaa, 0x6c, 0x79, 0xd5, 0xf9, 0xf8, 0xd9, 0xfb, 0xa},
    {0x3d80b3d0, 0x3db42ef0, 0x3e67aa10, 0x3e7488d8, 0x3e0d9298, 0xbec77d1c, 0xbe4dec80, 0x3e7488d8, 0x3dcdec80,
     0x3db42ef0, 0x3e5acb48, 0x3e80b3d0, 0xbe9a7160, 0xbec10db8, 0x3e4dec80, 0x3ec10db8, 0xbdf063d0, 0xbd63bce0,
     0x3d8b2c50, 0xbe247a30, 0x3d7d0ac0, 0xbd8b2c50, 0x3e441b88, 0xbe2acda8, 0x3db12120, 0x3c97d340, 0x80000000,
     0xbd7d0ac0, 0xbe441b88, 0x3c4a6f00, 0x80000000, 0xbd97d340, 0x3edbe280, 0xbedbe280, 0xbf004420, 0xbf0e0248,
     0xbf0e0248, 0xbe9bc070, 0x3e24e9e0, 0x3e5be280, 0x3ef75ed0, 0xbf096d90, 0xbedbe280, 0x3eae1350, 0xbf129700,
     0x3d929700, 0x3d129700, 0xbf096d90, 0xbd78ade0, 0xbe6c3ec8, 0x3dc6f180, 0xbdf8ade0, 0x3e8efd94, 0xbeba8268,
     0x3e8efd94, 0x3e88c608, 0x3ec0b9f4, 0x3e78ade0, 0xbea1a438, 0xbe153520, 0x3d46f180, 0x3e153520, 0x3e21a438,
     0x3ddfcfb0, 0x3e1f0618, 0xbe24e9e0, 0xbceb9740, 0xbc3c7900, 0xbceb9740, 0x3dbc7900, 0x3e369538, 0x3d3c7900,
     0xbd3c7900, 0x3e2acda8, 0x3e2acda8, 0xbe24e9e0, 0x3cbc7900, 0xbd540820, 0x3d6b9740, 0xbd8d5ac0, 0xbc516a00,
     0x3cae8300, 0xbcae8300, 0xbcbc7900, 0xbc999200, 0x3c199200, 0xbcd86500, 0x3c7b4c00, 0x3c6d5600, 0x3c516a00,
     0x3c84a100, 0x3ca78800, 0xbc437400, 0x3c999200, 0x3c0b9c00, 0x3c0b9c00, 0x3c9d0f80, 0x3c8b9c00, 0x3c516a00,
     0x3c2e8300, 0x3cd16a00, 0x3c62dd80, 0x3cbff680, 0xbc1d0f80, 0xbc516a00, 0x3ce2dd80, 0x3b8b9c00, 0xbd073f20,
     0xbc9d0f80, 0x3bae8300, 0xbcfd0ac0, 0xbceb9740, 0xbe848514, 0x3e30b170, 0x3deb9740, 0x3e933e88, 0xbdc45360,
     0xbc9d0f80, 0x3db0b170, 0xbe61c648, 0x3e133e88, 0xbe982704, 0x3db0b170, 0xbe57f550, 0xbe6b9740, 0xbdb0b170,
     0x3e6b9740, 0x3e4e2458, 0xbe69a0a8, 0x3d5be280, 0xbeb2a808, 0x3e172bb8, 0x3eb2a808, 0xbd5be280, 0xbeb2a808,
     0x3e4e2458, 0xbed5036c, 0xbc5be280, 0x3cdbe280, 0x3ec06630, 0x3da4e9e0, 0xbece2458, 0x3eabc8f4, 0xbd24e9e0,
     0x3efd4298, 0xbd611ec0, 0xbd611ec0, 0x3e8cb338, 0xbde11ec0, 0xbe611ec0, 0xbe161480, 0x3f1163dc, 0x3de11ec0,
     0xbc961480, 0xbe0351f0, 0xbd961480, 0xbee11ec0, 0xbec4fae8, 0x3e4e5c30, 0x3dbb99a0, 0x3e992250, 0xbeeb9740,
     0x3ed40820, 0xbedfcfb0, 0x3f369538, 0xbe819330, 0x3e24e9e0, 0xbe0d5ac0, 0x00000000, 0x3ec84090, 0xbf3c7900,
     0x3deb9740, 0xbf133e88, 0x3e819330, 0x3e8d5ac0, 0xbe8d5ac0, 0x3f2b911c, 0xbf2b911c, 0xbeb8c3a8, 0xbf38c3a8,
     0x3f38c3a8, 0xbeb8c3a8, 0x3f38c3a8, 0x3e38c3a8, 0x3cd328c0, 0x3cd328c0, 0xbf322a62, 0x3f38c3a8, 0x3ee05b4c,
     0x3efac064, 0x3d9e5e90, 0x3f45f634, 0xbe3b99a0, 0x3c161480, 0xbe44fae8, 0x3ce11ec0, 0x3e6a8008, 0xbe6a8008,
     0x3e73e150, 0x3d8351f0, 0xbd611ec0, 0x3ce11ec0, 0xbe7d4298, 0xbe611ec0, 0x3de11ec0, 0x3c961480, 0xbe73e150,
     0xbdbb99a0, 0xbd18b2a0, 0x3bc37400, 0xbd1ece40, 0x3ce819c0, 0x3cc37400, 0xbc2b0580, 0x3c745100, 0xbd3d5860,
     0x3d312120, 0x3c929700, 0xbd1ece40, 0xbc129700, 0xbc929700, 0x80000000, 0x3cab0580, 0x3c865fc0, 0xbc0b9c00,
     0x3ced5600, 0x3c0b9c00, 0x3c7b4c00, 0xbd199200, 0x3ba78800, 0xbd4a6f00, 0xbcdf6000, 0x3d437400, 0xbd3c7900,
     0xbd4a6f00, 0xbd208d00, 0xbd4a6f00, 0x3cc37400, 0x3d278800, 0xbc5f6000, 0xbe83dd8c, 0xbe43abd8, 0xbe192250,
     0xbd881e80, 0xbdee3560, 0xbdaa2620, 0x3e43abd8, 0x3dbb29f0, 0xbe10a068, 0xbe83dd8c, 0x3ccc2dc0, 0x3e3b29f0,
     0x3c881e80, 0x3e32a808, 0x3dee3560, 0xbe2a2620},
};

TEST(Dequantize, MatchesGoldenBits) {
  for (auto const* const known : {&q4_0_golden, &q4_1_golden, &q8_0_golden, &q6_k_golden}) {
    auto const values = values_of(known->type, known->bytes);
    ASSERT_EQ(values.size(), known->bits.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(std::bit_cast<std::uint32_t>(values[i]), known->bits[i]) << name_of(known->type) << " element " << i;
  }
}

TEST(Dequantize, RefusesWhatDoesNotFit) {
  std::vector<std::byte> const bytes(68);
  std::vector<float> values(64);
  EXPECT_NO_THROW(dequantize(ggml_type::q8_0, bytes, values));
  EXPECT_THROW(dequantize(ggml_type::q8_0, std::span(bytes).first(67), values), error);
  EXPECT_THROW(dequantize(ggml_type::q8_0, bytes, std::span(values).first(63)), error);
  EXPECT_THROW(dequantize(ggml_type::q8_0, bytes, std::span(values).first(32)), error);
  EXPECT_NO_THROW(dequantize(ggml_type::q8_0, {}, {}));
  try {
    dequantize(static_cast<ggml_type>(12), bytes, values);
    ADD_FAILURE();
  } catch (error const& refused) {
    EXPECT_NE(std::string(refused.what()).find("Q4_K"), std::string::npos);
  }
}

/// A tensor of 5 x 3 rows of 64 elements in `bytes`.
gguf_tensor tensor_of(std::vector<std::byte> const& bytes) {
  return {.name = "t", .type = ggml_type::q8_0, .extents = {5, 3, 64}, .offset = 0, .bytes = bytes};
}

TEST(Dequantize, RowsAreThePartsOfTheWhole) {
  std::mt19937 random(4);
  std::vector<std::byte> bytes(15 * 68);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random() & 0x3f); // finite scales
  auto const tensor = tensor_of(bytes);
  std::vector<float> whole(15 * 64);
  dequantize(tensor.type, bytes, whole);
  for (std::uint64_t first = 0; first <= 15; ++first) {
    for (std::uint64_t count = 0; first + count <= 15; ++count) {
      std::vector<float> rows(count * 64);
      dequantize_rows(tensor, first, count, rows);
      for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], whole[first * 64 + i]);
    }
  }
  std::vector<float> room(64);
  EXPECT_THROW(dequantize_rows(tensor, 15, 1, room), error);
  EXPECT_THROW(dequantize_rows(tensor, 16, 0, {}), error);
  EXPECT_THROW(dequantize_rows(tensor, 1, ~std::uint64_t{0}, room), error);
  EXPECT_THROW(dequantize_rows(tensor, 0, 2, room), error);

  for (std::uint64_t const run_elements : {0u, 64u, 200u, 960u, 5000u}) {
    std::vector<float> gathered;
    for_each_row_run(
        tensor,
        [&](std::uint64_t first, std::span<float const> rows) {
          EXPECT_EQ(first * 64, gathered.size());
          EXPECT_LE(rows.size(), std::max<std::uint64_t>(run_elements, 64));
          gathered.insert(gathered.end(), rows.begin(), rows.end());
        },
        run_elements);
    EXPECT_EQ(gathered, whole) << run_elements;
  }
}

TEST(Dequantize, VisitsNothingOfAnEmptyTensor) {
  gguf_tensor const empty{
      .name = "e", .type = ggml_type::f32, .extents = {std::uint64_t{1} << 40, 0}, .offset = 0, .bytes = {}};
  for_each_row_run(empty, [](std::uint64_t, std::span<float const>) { ADD_FAILURE(); });
  gguf_tensor const scalar{.name = "s",
                           .type = ggml_type::f32,
                           .extents = {},
                           .offset = 0,
                           .bytes = std::as_bytes(std::span("\0\0\x80\x3f", 4))};
  for_each_row_run(scalar, [](std::uint64_t first, std::span<float const> row) {
    EXPECT_EQ(first, 0u);
    ASSERT_EQ(row.size(), 1u);
    EXPECT_EQ(row[0], 1.0f);
  });
}

} // namespace
} // namespace mk::test
