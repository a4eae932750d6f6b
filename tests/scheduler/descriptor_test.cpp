#include <megakernels/ops/all.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/graph/operations.hpp>
#include <megakernels/scheduler/program/codec.hpp>
#include <megakernels/scheduler/program/disassemble.hpp>
#include <megakernels/scheduler/program/verify.hpp>

#include "bytes.hpp"
#include "kit.hpp"

#include <bit>
#include <functional>

namespace mk {
namespace {

constexpr std::uint32_t weight_buffer = 2;

/// A product with one descriptor: all of its weight of 100 x 72 in boxes of 64 x 64.
program product() {
  graph g("product");
  axis const in("in", 72), out("out", 100);
  auto const x = g.input("x", data_type::bf16, {g.live("rows", 4), in});
  auto const a = build::linear(g, "a", x, g.constant("weight", data_type::bf16, {out, in}));
  g.output("y", build::add(g, "twice", a, a));
  auto p = compile(g, {.workers = 2, .task_seconds = 1e-9}, small_operations);
  p.descriptors.push_back({.buffer = weight_buffer,
                           .rank = 2,
                           .type = data_type::bf16,
                           .swizzle = swizzle::bytes_128,
                           .extents = {100, 72},
                           .strides = {144, 2},
                           .box = {64, 64}});
  return p;
}

std::string refusal(std::function<void(descriptor&)> const& change) {
  auto p = product();
  change(p.descriptors[0]);
  return kit::text_of<program_error>([&] { verify(p, small_operations); });
}

void expect_refused(std::function<void(descriptor&)> const& change, std::string const& part) {
  auto const text = refusal(change);
  EXPECT_NE(text.find("descriptor 0: "), std::string::npos) << text;
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

std::uint32_t buffer_of(buffer_kind kind) {
  auto const p = product();
  for (std::uint32_t b = 0; b < p.buffers.size(); ++b)
    if (p.buffers[b].kind == kind) return b;
  throw error("the test's program has no such buffer");
}

TEST(descriptor, there_and_back) {
  auto const p = product();
  ASSERT_EQ(p.buffers[weight_buffer].name, "weight");
  verify(p, small_operations);
  auto const again = decode(encode(p));
  EXPECT_EQ(again.descriptors, p.descriptors);
  EXPECT_EQ(encode(again), encode(p));
  EXPECT_EQ(box_bytes(p.descriptors[0]), 8192u);
}

TEST(descriptor, listed) {
  auto p = product();
  auto const has = [&](std::string const& line) {
    auto const text = disassemble(p, small_operations);
    EXPECT_NE(text.find(line), std::string::npos) << line << " is not in:\n" << text;
  };
  has("\ndescriptor 0 bf16 [100, 72] strides [144, 2] bytes, box [64, 64], swizzle 128 bytes, 'weight' + 0\n");
  p.descriptors[0].rank = -1;
  p.descriptors[0].buffer = 99;
  p.descriptors[0].swizzle = static_cast<swizzle>(7);
  has("\ndescriptor 0 bf16 [100, 72, 0, 0, 0] strides [144, 2, 0, 0, 0] bytes, box [64, 64, 0, 0, 0], "
      "swizzle unknown, ? + 0\n");
}

TEST(descriptor, buffers) {
  expect_refused([](descriptor& d) { d.buffer = 99; }, "its buffer does not exist");
  for (auto kind : {buffer_kind::input, buffer_kind::output})
    expect_refused([&](descriptor& d) { d.buffer = buffer_of(kind); }, "lies elsewhere in each submission");
  auto p = product();
  p.descriptors.push_back({.buffer = buffer_of(buffer_kind::workspace),
                           .rank = 1,
                           .type = data_type::int8,
                           .extents = {16},
                           .strides = {1},
                           .box = {16}});
  verify(p, small_operations);
}

TEST(descriptor, plain_fields) {
  for (std::int32_t rank : {0, -1, 6, INT32_MIN, INT32_MAX})
    expect_refused([&](descriptor& d) { d.rank = rank; }, "its rank is not from 1 to 5");
  expect_refused([](descriptor& d) { d.type = static_cast<data_type>(7); }, "unknown data type");
  expect_refused([](descriptor& d) { d.swizzle = static_cast<swizzle>(4); }, "unknown swizzle");
  expect_refused([](descriptor& d) { d.reserved = 1; }, "reserved bits are set");
  expect_refused([](descriptor& d) { d.extents[2] = 1; }, "an axis past its rank is not zero, axis 2");
  expect_refused([](descriptor& d) { d.strides[4] = 1; }, "an axis past its rank is not zero, axis 4");
  expect_refused([](descriptor& d) { d.box[3] = 1; }, "an axis past its rank is not zero, axis 3");
}

TEST(descriptor, strides) {
  for (std::uint64_t offset : {1, 2, 8, 15, 17})
    expect_refused([&](descriptor& d) { d.offset = offset; }, "its offset is not a multiple of 16");
  for (std::int64_t stride : {0, 1, 4, -2})
    expect_refused([&](descriptor& d) { d.strides[1] = stride; }, "its innermost stride");
  for (std::int64_t stride : {std::int64_t(0), std::int64_t(-16), std::int64_t(8), std::int64_t(146),
                              std::int64_t(1) << 40, INT64_MIN, INT64_MAX - 15})
    expect_refused([&](descriptor& d) { d.strides[0] = stride; }, "is not a multiple of 16 bytes from 16 to 2^40");
}

TEST(descriptor, boxes) {
  for (std::uint32_t rows : {0u, 257u, UINT32_MAX})
    expect_refused([&](descriptor& d) { d.box[0] = rows; }, "elements, not 1 to 256, axis 0");
  for (std::uint32_t columns : {1u, 4u, 63u})
    expect_refused([&](descriptor& d) { d.box[1] = columns; }, "not a multiple of 16");
  for (std::uint32_t columns : {8u, 32u, 72u})
    expect_refused([&](descriptor& d) { d.box[1] = columns; }, "its swizzle 128");
  expect_refused([](descriptor& d) { d.swizzle = swizzle::bytes_64; }, "128 bytes, its swizzle 64");
  expect_refused(
      [](descriptor& d) {
        d = {weight_buffer, 3, data_type::fp32, swizzle::none, 0, {1, 1, 1}, {16, 16, 4}, {256, 256, 4}};
      },
      "2^20 bytes or more");
}

TEST(descriptor, spans) {
  for (std::int64_t extent : {std::int64_t(0), std::int64_t(-1), (std::int64_t(1) << 32) + 1, INT64_MIN, INT64_MAX})
    expect_refused([&](descriptor& d) { d.extents[1] = extent; }, "is not from 1 to 2^32");
  expect_refused([](descriptor& d) { d.extents[0] = 101; }, "leaves its buffer 'weight' of 14400 bytes");
  expect_refused([](descriptor& d) { d.extents[1] = 73; }, "leaves its buffer 'weight' of 14400 bytes");
  expect_refused([](descriptor& d) { d.offset = 16; }, "leaves its buffer");
  expect_refused([](descriptor& d) { d.offset = UINT64_MAX - 15; }, "leaves its buffer");
  expect_refused([](descriptor& d) { d.strides[0] = 160; }, "leaves its buffer");
  // Each axis alone wraps 64 bits.
  expect_refused(
      [](descriptor& d) {
        d.extents[0] = std::int64_t(1) << 32;
        d.strides[0] = (std::int64_t(1) << 40) - 16;
      },
      "leaves its buffer");
}

/// Whatever bits a descriptor has: it is refused, or none of its corners is outside its buffer.
TEST(descriptor, any_bits_are_refused_or_stay_inside) {
  __extension__ using wide = __int128;
  kit::random r(3);
  auto p = product();
  auto const intact = p.descriptors[0];
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto words = std::bit_cast<std::array<std::uint64_t, sizeof(descriptor) / 8>>(intact);
    for (auto flips = r.integer(1, 3); flips > 0; --flips) words[r.index(words.size())] ^= 1ull << r.index(64);
    auto const& d = p.descriptors[0] = std::bit_cast<descriptor>(words);
    try {
      verify(p, small_operations);
    } catch (program_error const&) {
      continue;
    }
    ++accepted;
    for (int corner = 0; corner < 4; ++corner) {
      wide at = d.offset;
      for (std::size_t axis = 0; axis < 2; ++axis)
        if ((corner >> axis & 1) != 0) at += wide(d.extents[axis] - 1) * d.strides[axis];
      EXPECT_LE(at + bytes_of(d.type), p.buffers[d.buffer].bytes);
    }
    auto const again = decode(encode(p));
    EXPECT_EQ(again.descriptors, p.descriptors);
  }
  EXPECT_GT(accepted, 100);
}

} // namespace
} // namespace mk
