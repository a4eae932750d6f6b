#include <megakernels/kernels/small.hpp>
#include <megakernels/ops/error.hpp>

#include "kit.hpp"

#include <chrono>

namespace mk::test {
namespace {

using cuda_session = gpu_test;

// [device]
cuda_device gpu(run_mode mode = run_mode::resident) { return {.kernel = &kernels::small(), .mode = mode}; }
// [/device]

TEST_F(cuda_session, equals_the_host_bit_for_bit_with_any_number_of_workers) {
  layer_program const layer;
  session host(host_device{}, small_operations);
  layer.set_constants(host);
  auto const on_host = host.load(layer.make(2));
  for (auto const mode : {run_mode::launch, run_mode::resident}) {
    session s(gpu(mode), small_operations);
    layer.set_constants(s);
    for (std::uint32_t workers : {1u, 2u, 3u, 7u, multiprocessors()}) {
      auto const p = s.load(layer.make(workers));
      for (std::int64_t live : {8, 1, 5, 0, 3})
        EXPECT_EQ(bytes_of(layer.run(s, p, live, 5)), bytes_of(layer.run(host, on_host, live, 5)))
            << workers << " workers, " << live << " rows";
    }
  }
}

TEST_F(cuda_session, wide_rows_take_spans_of_several_pages) {
  for (std::int64_t inner : {8192, 20000, 32768, 33000}) {
    layer_program const layer{.rows = 3, .width = 40, .inner = inner, .type = data_type::bf16};
    session host(host_device{}, small_operations);
    session s(gpu(), small_operations);
    layer.set_constants(host);
    layer.set_constants(s);
    auto const on_host = host.load(layer.make(2));
    auto const p = s.load(layer.make(multiprocessors()));
    EXPECT_EQ(bytes_of(layer.run(s, p, 3, 1)), bytes_of(layer.run(host, on_host, 3, 1))) << inner;
  }
}

TEST_F(cuda_session, ten_thousand_submissions_need_one_kernel) {
  layer_program const layer;
  session host(host_device{}, small_operations);
  layer.set_constants(host);
  auto const on_host = host.load(layer.make(2));
  session s(gpu(), small_operations);
  layer.set_constants(s);
  std::vector<program_id> programs{s.load(layer.make(multiprocessors()))};
  std::vector<std::vector<std::byte>> expected;
  for (std::uint64_t seed = 0; seed < 16; ++seed)
    expected.push_back(bytes_of(layer.run(host, on_host, static_cast<std::int64_t>(seed % 9), seed)));
  for (std::uint64_t i = 0; i < 10000; ++i) {
    if (i == 5000) programs.push_back(s.load(layer.make(7))); // after the kernel was started
    auto const seed = i % 16;
    auto const y = layer.run(s, programs[i % programs.size()], static_cast<std::int64_t>(seed % 9), seed);
    ASSERT_EQ(bytes_of(y), expected[seed]) << "submission " << i;
  }
  EXPECT_EQ(s.status().kernel_starts, 1u);
  auto const p = programs.back();
  auto const plan = layer.make(7);
  for (std::size_t c = 0; c < plan.counters.size(); ++c)
    EXPECT_EQ(s.counters(p)[c], plan.counters[c] * s.epoch(p)) << "counter " << c;
}

TEST_F(cuda_session, epochs_pass_through_zero) {
  layer_program const layer;
  auto device = gpu();
  device.first_epoch = 0xFFFFFFFDu;
  session s(device, small_operations);
  layer.set_constants(s);
  auto const p = s.load(layer.make(5));
  auto const first = bytes_of(layer.run(s, p, 4, 9));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(bytes_of(layer.run(s, p, 4, 9)), first);
  EXPECT_EQ(s.epoch(p), 5u);
}

TEST_F(cuda_session, an_idle_kernel_ends_and_is_started_again) {
  layer_program const layer;
  auto device = gpu();
  device.idle_after = std::chrono::milliseconds(20);
  session s(device, small_operations);
  layer.set_constants(s);
  auto const p = s.load(layer.make(3));
  auto const first = bytes_of(layer.run(s, p, 4, 9));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(bytes_of(layer.run(s, p, 4, 9)), first);
  EXPECT_EQ(s.status().kernel_starts, 2u);
}

TEST_F(cuda_session, a_lost_signal_ends_in_an_error_that_names_the_edge) {
  layer_program const layer;
  auto const plan = layer.make(3);
  std::uint32_t record = 0;
  while (plan.records[record].signal_count == 0) ++record;
  for (auto const mode : {run_mode::launch, run_mode::resident}) {
    auto device = gpu(mode);
    device.drop_signal = record;
    session s(device, small_operations);
    layer.set_constants(s);
    auto const p = s.load(plan);
    auto const start = std::chrono::steady_clock::now();
    try {
      layer.run(s, p, 4, 9);
      ADD_FAILURE() << "it did not fail";
    } catch (device_error const& e) {
      EXPECT_NE(std::string(e.what()).find("waits for counter"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("node '"), std::string::npos) << e.what();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
    EXPECT_THROW(layer.run(s, p, 4, 9), device_error);
    session other(gpu(), small_operations); // others are untouched
    layer.set_constants(other);
    EXPECT_NO_THROW(layer.run(other, other.load(plan), 4, 9));
  }
}

TEST_F(cuda_session, too_many_workers_are_refused_with_both_numbers) {
  session s(gpu(), small_operations);
  auto const wanted = multiprocessors() + 1;
  try {
    s.load(layer_program{.width = 16 * 200}.make(wanted));
    ADD_FAILURE() << "it was accepted";
  } catch (device_error const& e) {
    EXPECT_NE(std::string(e.what()).find(std::to_string(wanted)), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(std::to_string(multiprocessors())), std::string::npos) << e.what();
  }
}

TEST_F(cuda_session, a_cap_on_multiprocessors_is_kept) {
  layer_program const layer;
  session host(host_device{}, small_operations);
  layer.set_constants(host);
  auto const right = bytes_of(layer.run(host, host.load(layer.make(2)), 5, 4));
  for (auto const mode : {run_mode::launch, run_mode::resident}) {
    auto device = gpu(mode);
    device.most_workers = 7;
    session s(device, small_operations);
    layer.set_constants(s);
    EXPECT_EQ(bytes_of(layer.run(s, s.load(layer.make(7)), 5, 4)), right);
    EXPECT_THROW(s.load(layer.make(8)), device_error);
  }
}

TEST_F(cuda_session, calls_that_need_the_multiprocessors_return_when_the_kernel_is_idle) {
  layer_program const layer;
  auto device = gpu();
  device.idle_after = std::chrono::milliseconds(200);
  session s(device, small_operations);
  layer.set_constants(s);
  auto const p = s.load(layer.make(multiprocessors()));
  layer.run(s, p, 4, 9);
  auto const start = std::chrono::steady_clock::now();
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, std::size_t(1) << 20), cudaSuccess);
  EXPECT_EQ(cudaMemset(memory, 1, std::size_t(1) << 20), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_LT(std::chrono::steady_clock::now() - start, device.idle_after + std::chrono::seconds(1));
}

} // namespace
} // namespace mk::test
