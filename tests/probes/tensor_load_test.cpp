/// Boxes of a tensor, loaded through a table of descriptors that came out of a program, against plain loops over what a
/// descriptor means.

#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/cuda/internal/descriptors.hpp>
#include <megakernels/scheduler/program/codec.hpp>
#include <megakernels/scheduler/program/verify.hpp>

#include "../cuda/kit.hpp"
#include "gpu_array.hpp"
#include "tensor_load.hpp"

#include <chrono>

namespace mk::test {
namespace {

using bytes = std::vector<std::byte>;
using coordinates = std::vector<std::int64_t>; // outermost axis first

constexpr std::uint64_t buffer_bytes = 40000;
constexpr unsigned guard_bytes = 512;

bytes any_bytes(std::uint64_t count, std::uint64_t seed) {
  bytes result(count);
  std::mt19937_64 random(seed);
  for (auto& b : result) b = static_cast<std::byte>(random());
  return result;
}

/// A program with one constant and the given descriptors of it, saved and read again.
program program_of(std::vector<descriptor> descriptors) {
  program p;
  p.list_hash = small_operations.hash;
  p.buffers.push_back({.name = "tiles", .kind = buffer_kind::constant, .bytes = buffer_bytes, .root = 0});
  p.tensors.push_back({.name = "tiles", .desc = dense(data_type::int8, std::int64_t(buffer_bytes))});
  p.workers.emplace_back();
  p.descriptors = std::move(descriptors);
  auto result = decode(encode(p));
  verify(result, small_operations);
  return result;
}

std::uint64_t swizzled(std::uint64_t at, swizzle s) {
  auto const bits = static_cast<std::uint64_t>(s); // of the place among 8 rows that move a piece
  return at ^ (at >> 7 & ((1u << bits) - 1)) << 4;
}

/// What shared memory holds after the load: the descriptor's meaning.
bytes meaning(descriptor const& d, bytes const& buffer, coordinates const& at) {
  auto const size = static_cast<std::uint64_t>(bytes_of(d.type));
  auto const rank = static_cast<std::size_t>(d.rank);
  bytes result(box_bytes(d) + guard_bytes, std::byte{untouched});
  for (std::uint64_t element = 0; element < box_bytes(d) / size; ++element) {
    auto rest = element;
    auto from = d.offset;
    bool inside = true;
    for (auto axis = rank; axis-- > 0; rest /= d.box[axis]) {
      auto const i = at[axis] + static_cast<std::int64_t>(rest % d.box[axis]);
      inside = inside && i >= 0 && i < d.extents[axis];
      from += static_cast<std::uint64_t>(i * d.strides[axis]);
    }
    for (std::uint64_t b = 0; b < size; ++b)
      result[swizzled(element * size + b, d.swizzle)] = inside ? buffer[from + b] : std::byte{0};
  }
  return result;
}

class tensor_load : public gpu_test {
protected:
  void SetUp() override {
    gpu_test::SetUp();
    if (IsSkipped()) return;
    copies_.emplace();
    pool = std::make_shared<cuda::memory_pool>(*copies_, 0, nullptr);
  }

  std::shared_ptr<cuda::memory_pool> pool;

  static tensor_load_arguments arguments(descriptor const& d, coordinates const& at) {
    tensor_load_arguments a{};
    for (std::size_t i = 0; i < at.size(); ++i) a.at[i] = static_cast<std::int32_t>(at[at.size() - 1 - i]);
    a.rank = static_cast<unsigned>(d.rank);
    a.box_bytes = box_bytes(d);
    a.shared_bytes = a.box_bytes + guard_bytes;
    a.rounds = 1;
    return a;
  }

  /// Words that kernel and host share: begin, ended, late.
  static void share(tensor_load_arguments& a, cuda::pinned_memory const& words) {
    a.begin = words.device<std::uint32_t>();
    a.ended = a.begin + 1;
    a.late = a.begin + 2;
  }

  /// `places` count the innermost axis in chunks of 16 bytes.
  void check(program const& p, std::vector<coordinates> const& places) {
    auto const contents = any_bytes(buffer_bytes, 5);
    gpu_array<std::byte> const buffer(contents);
    auto& copies = *copies_;
    std::byte* const addresses[] = {buffer.data()};
    cuda::descriptor_table const table(p, addresses, pool, copies);
    cuda::pinned_memory const words(copies, 64);
    for (std::size_t i = 0; i < p.descriptors.size(); ++i)
      for (auto at : places) {
        auto const& d = p.descriptors[i];
        at.back() *= 16 / static_cast<std::int64_t>(tylo::bytes_of(d.type));
        auto a = arguments(d, at);
        a.map = table.address() + i;
        share(a, words);
        gpu_array<std::byte> const shown(a.shared_bytes);
        a.shown = shown.data();
        ASSERT_EQ(start_tensor_load(a, nullptr), cudaSuccess);
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        ASSERT_EQ(words.host<std::uint32_t>()[2], 0u) << "descriptor " << i << ": the copy did not complete";
        ASSERT_EQ(shown.fetch(), meaning(d, contents, at))
            << "descriptor " << i << ", " << name_of(d.type) << ", swizzle " << name_of(d.swizzle) << ", axis 0 at "
            << at.front() << ", last axis at " << at.back();
      }
  }

  std::optional<cuda::copier> copies_;
};

TEST_F(tensor_load, boxes_of_a_matrix_with_ragged_edges) {
  constexpr std::uint32_t tiles = 0;
  std::vector<descriptor> const all{
      {tiles, 2, data_type::bf16, swizzle::bytes_128, 0, {100, 72}, {144, 2}, {64, 64}},
      {tiles, 2, data_type::bf16, swizzle::bytes_64, 32, {100, 72}, {160, 2}, {40, 32}},
      {tiles, 2, data_type::fp16, swizzle::bytes_32, 16, {99, 71}, {144, 2}, {17, 16}},
      {tiles, 2, data_type::bf16, swizzle::none, 0, {100, 72}, {144, 2}, {64, 64}},
      {tiles, 2, data_type::bf16, swizzle::none, 48, {100, 70}, {176, 2}, {9, 24}},
      {tiles, 2, data_type::fp32, swizzle::bytes_128, 0, {90, 67}, {272, 4}, {24, 32}},
      {tiles, 2, data_type::fp32, swizzle::none, 0, {90, 67}, {272, 4}, {13, 12}},
      {tiles, 2, data_type::int32, swizzle::bytes_64, 0, {90, 67}, {272, 4}, {8, 16}},
      {tiles, 2, data_type::int8, swizzle::bytes_128, 0, {200, 150}, {160, 1}, {128, 128}},
      {tiles, 2, data_type::e4m3, swizzle::bytes_32, 0, {200, 150}, {160, 1}, {11, 32}},
      {tiles, 2, data_type::e5m2, swizzle::none, 0, {200, 150}, {160, 1}, {256, 16}},
  };
  check(program_of(all), {{0, 0}, {8, 2}, {64, 8}, {-3, -1}, {95, 1}, {-64, 0}, {300, 40}, {99, 8}});
}

TEST_F(tensor_load, boxes_of_three_axes) {
  check(program_of({{0, 3, data_type::bf16, swizzle::bytes_128, 0, {5, 20, 72}, {3200, 160, 2}, {2, 8, 64}},
                    {0, 3, data_type::fp32, swizzle::none, 0, {20, 5, 40}, {160, 3200, 4}, {3, 2, 8}}}),
        {{0, 0, 0}, {4, 15, 4}, {-1, 3, -1}, {1, 1, 1}});
}

/// As for a program that is uploaded while a resident kernel runs: the copy engine has read the table's old contents.
TEST_F(tensor_load, a_descriptor_that_changes_while_the_kernel_runs) {
  auto const p = program_of({{0, 2, data_type::bf16, swizzle::bytes_128, 0, {100, 72}, {144, 2}, {64, 64}},
                             {0, 2, data_type::bf16, swizzle::none, 1600, {90, 64}, {160, 2}, {64, 64}}});
  auto const contents = any_bytes(buffer_bytes, 6);
  gpu_array<std::byte> const buffer(contents);
  auto& copies = *copies_;
  std::byte* const addresses[] = {buffer.data()};
  cuda::descriptor_table const table(p, addresses, pool, copies);
  auto const place = cuda::memory_pool::take(pool, sizeof(tylo::tensor_map));
  auto const put = [&](std::size_t i) {
    auto const map = cuda::encode(p.descriptors[i], buffer.data());
    copies.to_device(place.get(), reinterpret_cast<std::byte const*>(&map), sizeof map);
  };
  put(0);
  constexpr unsigned rounds = 6;
  cuda::pinned_memory const words(copies, 64);
  auto a = arguments(p.descriptors[0], {8, 0});
  a.map = reinterpret_cast<tylo::tensor_map const*>(place.get());
  a.rounds = rounds;
  share(a, words);
  gpu_array<std::byte> const shown(std::size_t(rounds) * a.shared_bytes);
  a.shown = shown.data();
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(start_tensor_load(a, stream), cudaSuccess);
  auto* const host = words.host<std::uint32_t>();
  auto const start = std::chrono::steady_clock::now();
  for (unsigned round = 1; round < rounds; ++round) {
    while (__atomic_load_n(host + 1, __ATOMIC_ACQUIRE) < round &&
           std::chrono::steady_clock::now() - start < std::chrono::seconds(5)) {
    }
    put(round % 2);
    __atomic_store_n(host, round, __ATOMIC_RELEASE);
  }
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(host[2], 0u) << "a wait took too long";
  bytes expected;
  for (unsigned round = 0; round < rounds; ++round) {
    auto const one = meaning(p.descriptors[round % 2], contents, {8, 0});
    expected.insert(expected.end(), one.begin(), one.end());
  }
  EXPECT_EQ(shown.fetch(), expected);
}

} // namespace
} // namespace mk::test
