#include <megakernels/ops/all.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/program/verify.hpp>

#include "bytes.hpp"
#include "models.hpp"
#include "run_records.hpp"

#include <chrono>
#include <cstdlib>

namespace mk {
namespace {

using bytes = std::vector<std::byte>;

constexpr int flips_tried = kit::sanitized ? 20'000 : 100'000;

/// Small, and with all that a program can have: live axes, windows, states, overflowing signals, shared memory.
program small_program(std::int64_t workers = 2) {
  auto p = compile(*kit::make_llama({.hidden = 8,
                                     .heads = 2,
                                     .kv_heads = 1,
                                     .head_dim = 4,
                                     .feed_forward = 32,
                                     .vocabulary = 20,
                                     .rows = 2,
                                     .splits = 2}),
                   {.workers = workers, .bytes_per_second = 1, .task_seconds = 1e-9}, full_operations);
  p.metadata = "metadata";
  return p;
}

std::string refusal(bytes const& b) {
  return kit::text_of<program_error>([&] { decode(b); });
}

TEST(codec, there_and_back) {
  for (std::int64_t workers : {1, 2, 3, 7, 132}) {
    auto const once = encode(small_program(workers));
    auto const p = decode(once);
    EXPECT_EQ(encode(p), once);
    EXPECT_EQ(p.metadata, "metadata");
    verify(p, full_operations);
  }
  EXPECT_EQ(encode(decode(encode(program{}))), encode(program{}));
}

TEST(codec, headers) {
  auto const intact = encode(small_program());
  EXPECT_EQ(refusal({}), "program: 0 bytes are too few for a header of 16");
  EXPECT_EQ(refusal(bytes(intact.begin(), intact.begin() + 15)), "program: 15 bytes are too few for a header of 16");
  auto other = intact;
  other[0] = std::byte{'G'};
  EXPECT_EQ(refusal(other), "program, byte 0: not a program file (wrong magic number)");
  other = intact;
  other[4] = std::byte{9};
  EXPECT_EQ(refusal(other), "program, byte 4: version 9, this library reads version 3");
  other = intact;
  other.push_back(std::byte{0});
  EXPECT_EQ(refusal(other), "program, byte 8: the hash does not match: truncated or damaged");
  kit::rehash(other);
  EXPECT_EQ(refusal(other), "program, byte " + std::to_string(intact.size()) + ": 1 bytes follow the program");
}

TEST(codec, lists_longer_than_the_file) {
  auto damaged = encode(small_program());
  for (std::size_t i = 0; i < 8; ++i) damaged[kit::header_bytes + i] = std::byte{0xFF}; // length of the name
  kit::rehash(damaged);
  EXPECT_EQ(refusal(damaged), "program, byte 24: a list of 18446744073709551615 elements is longer than the file");
}

TEST(codec, truncated_at_every_length) {
  auto const intact = encode(small_program());
  for (std::size_t length = 0; length < intact.size(); ++length) {
    bytes cut(intact.begin(), intact.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THROW(decode(cut), program_error) << length;
    if (length < kit::header_bytes) continue;
    kit::rehash(cut);
    EXPECT_THROW(decode(cut), program_error) << length;
  }
}

TEST(codec, every_flipped_bit_is_noticed) {
  auto const intact = encode(small_program());
  kit::random r(1);
  auto damaged = intact;
  for (int i = 0; i < flips_tried; ++i) {
    auto const at = r.index(intact.size());
    damaged[at] ^= static_cast<std::byte>(1u << r.index(8));
    EXPECT_THROW(decode(damaged), program_error) << at;
    damaged[at] = intact[at];
  }
}

/// What a device would do with a program that it has accepted: look at contents that it can see, run, stay inside.
void run_harmlessly(program const& p, std::uint64_t seed) {
  std::uint64_t total = 0;
  for (auto const& b : p.buffers) {
    if (b.bytes > 1 << 20) return; // a device has no memory for it, or gives it and is slow
    total += b.bytes;
  }
  if (total > 1 << 22) return;
  kit::random r(seed);
  kit::program_memory memory(p);
  for (auto const& b : p.buffers)
    for (auto& byte : memory.buffer(b.name)) byte = static_cast<std::byte>(r.chance(70) ? 0 : r.bits());
  std::vector<std::int64_t> live;
  for (auto const& axis : p.live_axes) live.push_back(r.chance(70) ? axis.capacity : r.integer(0, axis.capacity));
  EXPECT_TRUE(kit::record_runner(p, full_operations, memory.addresses(), live, seed).run());
  EXPECT_TRUE(memory.guards_intact());
}

/// The bits that change are those of a program which someone made on purpose: the hash is right.
TEST(codec, flipped_bits_with_the_right_hash_are_refused_or_harmless) {
  auto const intact = encode(small_program());
  kit::random r(2);
  int refused = 0, ran = 0;
  double longest = 0;
  for (int i = 0; i < flips_tried; ++i) {
    auto damaged = intact;
    for (auto flips = r.chance(80) ? 1 : r.integer(2, 3); flips > 0; --flips)
      damaged[kit::header_bytes + r.index(intact.size() - kit::header_bytes)] ^=
          static_cast<std::byte>(1u << r.index(8));
    kit::rehash(damaged);
    auto const start = std::chrono::steady_clock::now();
    try {
      auto const p = decode(damaged);
      verify(p, full_operations);
      run_harmlessly(p, static_cast<std::uint64_t>(i));
      ++ran;
    } catch (program_error const&) {
      ++refused;
    }
    longest = std::max(longest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (HasFailure()) FAIL() << "at flip " << i;
  }
  std::printf("%zu bytes: %d refused, %d ran, longest %.3f s\n", intact.size(), refused, ran, longest);
  EXPECT_GT(refused, flips_tried / 10);
  EXPECT_GT(ran, flips_tried / 10);
  if (!kit::sanitized) {
    EXPECT_LT(longest, 1.0);
  }
}

} // namespace
} // namespace mk
