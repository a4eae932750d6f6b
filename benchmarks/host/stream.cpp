#include "host/benchmarks.hpp"
#include "kit/suite.hpp"
#include "kit/timing.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

namespace mk::bench {
namespace {

constexpr std::size_t words = std::size_t(1) << 27; // of 8 bytes: 1 GiB
constexpr std::size_t lanes = 32;                   // several loads under way at a time

std::uint64_t sum_of(std::span<std::uint64_t const> part) {
  std::array<std::uint64_t, lanes> sums{};
  for (std::size_t i = 0; i < part.size(); i += lanes)
    for (std::size_t j = 0; j < lanes; ++j) sums[j] += part[i + j];
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t(0));
}

/// Runs f(part of the buffer, its number) on all cores.
template <class F> void on_all_cores(std::span<std::uint64_t> buffer, F f) {
  auto const count = static_cast<std::size_t>(cores());
  auto const share = buffer.size() / count / lanes * lanes;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([=] { f(buffer.subspan(i * share, share), i); });
  for (auto& t : threads) t.join();
}

std::vector<double> measure() {
  std::vector<std::uint64_t> buffer(words);
  // Each core writes what it will read: pages lie near the core that first touches them.
  on_all_cores(buffer, [](std::span<std::uint64_t> part, std::size_t) { std::ranges::fill(part, 3); });
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(cores()));
  std::size_t read = 0;
  auto const seconds = time_runs(20, [&] {
    on_all_cores(buffer, [&](std::span<std::uint64_t> part, std::size_t i) { sums[i] = sum_of(part); });
    auto const sum = std::accumulate(sums.begin(), sums.end(), std::uint64_t(0));
    read = sum / 3 * sizeof(std::uint64_t);
    expect(sum % 3 == 0 && read > 0, "host/stream: the sum is wrong");
  });
  return rates(static_cast<double>(read) / 1e9, seconds);
}

std::vector<double> const& measured() {
  static auto const gbytes = measure();
  return gbytes;
}

} // namespace

std::int64_t cores() { return std::max(1u, std::thread::hardware_concurrency()); }

double stream_gbytes() { return std::ranges::max(measured()); }

figure stream() {
  return {.unit = "GB/s", .measured = summarize(measured()), .verdict = "the sum of 1 GiB is right in every run"};
}

} // namespace mk::bench
