/// The persistent kernel and the handlers, run by sessions on an emulated GPU, beside the host.

#include <megakernels/kernels/small.hpp>
#include <megakernels/ops/error.hpp>

#include "../runtime/layer_program.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

namespace mk::test {
namespace {

emulator_device emulated(std::uint64_t seed, std::uint32_t workers = 3) {
  emulator_device d{.kernel = &kernels::small(), .workers = workers};
  d.how.seed = seed;
  d.how.batched = true;
  return d;
}

/// The report of a submission that must fail.
template <class F> std::string failure_of(F f) {
  try {
    f();
  } catch (device_error const& e) {
    return e.what();
  }
  return "it did not fail";
}

/// Lengths 8, 0 and 3 on the host, and on the emulated device.
void expect_agreement(layer_program const& layer, emulator_device const& device) {
  session host(host_device{}, small_operations), s(device, small_operations);
  layer.set_constants(host);
  layer.set_constants(s);
  auto const on_host = host.load(layer.make(2));
  auto const p = s.load(layer.make(device.workers));
  for (std::int64_t const rows : {8, 0, 3})
    EXPECT_EQ(bytes_of(layer.run(s, p, rows, 5)), bytes_of(layer.run(host, on_host, rows, 5)))
        << "seed " << device.how.seed << ", " << rows << " rows";
}

/// The kernel with its ring, counters and join, under schedules that are as unfair as can be.
TEST(emulator_session, whole_numbers_have_the_bits_of_the_host_whatever_the_schedule) {
  layer_program const layer{.rows = 8, .width = 32, .inner = 48};
  std::uint64_t const seeds = std::getenv("MK_LONG") != nullptr ? 500 : 100;
  for (std::uint64_t seed = 0; seed < seeds && !HasFailure(); ++seed)
    expect_agreement(layer, emulated(seed, 1 + static_cast<std::uint32_t>(seed % 4)));
}

TEST(emulator_session, every_element_type_and_rows_that_do_not_stream) {
  for (auto const type : {data_type::fp32, data_type::bf16, data_type::fp16, data_type::e4m3, data_type::int8})
    expect_agreement({.width = 40, .inner = 52, .type = type}, emulated(4));
}

TEST(emulator_session, instruction_by_instruction_gives_the_bits_of_joint_steps) {
  layer_program const layer{.width = 48, .inner = 64, .norm = true};
  std::vector<std::byte> known;
  for (bool const batched : {false, true}) {
    auto d = emulated(1);
    d.how.batched = batched;
    session s(d, small_operations);
    layer.set_constants(s);
    auto const y = bytes_of(layer.run(s, s.load(layer.make(3)), 7, 2));
    if (known.empty()) known = y;
    EXPECT_EQ(y, known);
  }
}

TEST(emulator_session, a_resident_kernel_takes_submissions_and_retires) {
  layer_program const layer{.width = 32, .inner = 48};
  session host(host_device{}, small_operations);
  layer.set_constants(host);
  auto const on_host = host.load(layer.make(2));
  auto d = emulated(3, 2);
  d.mode = run_mode::resident;
  d.idle_after = std::chrono::milliseconds(200);
  session s(d, small_operations);
  layer.set_constants(s);
  std::vector<program_id> programs{s.load(layer.make(2))};
  for (std::uint64_t i = 0; i < 12; ++i) {
    if (i == 6) programs.push_back(s.load(layer.make(1)));
    auto const rows = static_cast<std::int64_t>(i % 9);
    EXPECT_EQ(bytes_of(layer.run(s, programs[i % programs.size()], rows, i)),
              bytes_of(layer.run(host, on_host, rows, i)));
  }
  EXPECT_LE(s.status().kernel_starts, 12u);
}

TEST(emulator_session, epochs_pass_through_zero) {
  layer_program const layer{.width = 32, .inner = 48};
  auto d = emulated(2);
  d.first_epoch = 0xFFFFFFFDu;
  session s(d, small_operations);
  layer.set_constants(s);
  auto const p = s.load(layer.make(3));
  auto const first = bytes_of(layer.run(s, p, 4, 9));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(bytes_of(layer.run(s, p, 4, 9)), first);
  EXPECT_EQ(s.epoch(p), 3u);
}

TEST(emulator_session, a_lost_signal_ends_in_an_error_that_names_the_edge) {
  layer_program const layer{.width = 32, .inner = 48};
  auto const plan = layer.make(3);
  std::uint32_t record = 0;
  while (plan.records[record].signal_count == 0) ++record;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto d = emulated(seed);
    d.drop_signal = record;
    session s(d, small_operations);
    layer.set_constants(s);
    auto const p = s.load(plan);
    auto const report = failure_of([&] { layer.run(s, p, 4, 9); });
    EXPECT_NE(report.find("waits for counter"), std::string::npos) << report;
    EXPECT_NE(report.find("node '"), std::string::npos) << report;
  }
}

TEST(emulator_session, what_the_device_cannot_do_is_said) {
  layer_program const layer;
  session s(emulated(0, 2), small_operations);
  layer.set_constants(s);
  auto const text = failure_of([&] { s.load(layer.make(3)); });
  EXPECT_NE(text.find("asks for 3 workers, the emulator device has 2"), std::string::npos) << text;
  EXPECT_NE(failure_of([] { session none(emulator_device{}, small_operations); }).find("no kernel instance"),
            std::string::npos);
  EXPECT_NE(failure_of([] { session none(emulated(0, 0), small_operations); }).find("workers is 0"), std::string::npos);
}

} // namespace
} // namespace mk::test
