#include <megakernels/kernels/bench_probes.hpp>
#include <megakernels/runtime/session.hpp>

#include "cuda/benchmarks.hpp"
#include "cuda/gpu_facts.hpp"
#include "cuda/gpu_tensor.hpp"
#include "cuda/operations.hpp"
#include "cuda/probes.hpp"
#include "cuda/programs.hpp"
#include "cuda/submissions.hpp"
#include "kit/suite.hpp"

#include <algorithm>
#include <numeric>

namespace mk::bench {
namespace {

cuda_device gpu(std::uint32_t most_workers = 0) {
  return {.kernel = &kernels::bench_probes(), .most_workers = most_workers};
}

/// The tasks of a program are there and, told to count, all run.
void expect_columns(std::int64_t nodes, std::int64_t columns, std::uint32_t most_workers) {
  gpu_tensor const x(data_type::int32, 1, columns);
  gpu_tensor const y(data_type::int32, 1, columns);
  session s(gpu(most_workers), probe_list::table);
  auto const p = s.load(make_columns(nodes, columns, tick::count));
  s.submit(p, step().bind("x", x.view()).bind("y", y.view())).wait();
  for (auto number : y.numbers())
    expect(number == nodes, "ticks: a count is " + std::to_string(number) + ", not " + std::to_string(nodes));
}

void expect_steps(session const& s, program_id p, std::uint32_t steps) {
  expect(s.epoch(p) == steps, "steps: " + std::to_string(s.epoch(p)) + ", not " + std::to_string(steps));
  expect(s.status().kernel_starts == 1,
         "the kernel was started " + std::to_string(s.status().kernel_starts) + " times");
}

/// A constant "weights" of rows, with the sum of each.
struct weight_rows {
  std::shared_ptr<tensor> values;
  std::vector<std::uint32_t> sums;
};

weight_rows make_rows(std::int64_t rows, std::int64_t words) {
  weight_rows result{.values =
                         std::make_shared<tensor>(data_type::int32, std::initializer_list<std::int64_t>{rows, words}),
                     .sums = {}};
  auto all = result.values->span<std::int32_t>();
  std::uint32_t next = 1;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::uint32_t sum = 0;
    for (auto& word : all.subspan(static_cast<std::size_t>(r * words), static_cast<std::size_t>(words))) {
      word = static_cast<std::int32_t>(next);
      sum += next;
      next += 0x9E3779B9u;
    }
    result.sums.push_back(sum);
  }
  return result;
}

void expect_sums(std::vector<std::int32_t> const& found, std::vector<std::uint32_t> const& sums, std::int32_t laps) {
  for (std::size_t r = 0; r < sums.size(); ++r)
    expect(static_cast<std::uint32_t>(found[2 * r + 1]) == sums[r] * static_cast<std::uint32_t>(laps),
           "stream: the sum of row " + std::to_string(r) + " is wrong");
}

constexpr std::int64_t row_words = std::int64_t(1) << 20; // 4 MiB: all rows together are far more than the cache holds

} // namespace

figure stream() {
  return {.unit = "GB/s", .measured = summarize(stream_rates()), .verdict = "the sum of 2 GiB is right in every run"};
}

figure stream_resident() {
  auto const limit = stream_gbytes();
  auto const workers = multiprocessors();
  constexpr std::int32_t laps = 8;
  constexpr std::int64_t steps = 4;
  auto const weights = make_rows(workers, row_words);
  gpu_tensor const rows(data_type::int32, workers, 2);
  session s(gpu(), probe_list::table);
  s.set_constant("weights", weights.values);
  auto const p = s.load(make_stream(workers, row_words, laps));
  auto once = step().bind("rows", rows.view());
  auto more = once;
  more.repeat(steps + 1);
  auto us = differences(20, steps, [&] { return microseconds(s, p, more); }, [&] { return microseconds(s, p, once); });
  expect_sums(rows.numbers(), weights.sums, laps);
  for (auto& t : us) t *= 1e-6;
  auto const bytes = static_cast<double>(weights.values->size_bytes()) * laps;
  return {.unit = "GB/s",
          .measured = summarize(rates(bytes / 1e9, us)),
          .limit = limit,
          .verdict = "the sums of all workers are right"};
}

figure task_empty() {
  constexpr std::int64_t tasks = 4096;
  auto list = make_columns(tasks, 1, tick::rest);
  expect(list.records.size() == tasks && list.counters.empty(), "task: the list has waits, or not a record a node");
  expect_columns(tasks, 1, 0);
  gpu_tensor const x(data_type::int32, 1, 1), y(data_type::int32, 1, 1);
  session s(gpu(), probe_list::table);
  auto const all = s.load(std::move(list)), one = s.load(make_columns(1, 1, tick::rest));
  auto const values = step().bind("x", x.view()).bind("y", y.view());
  auto const us = differences(
      50, tasks - 1, [&] { return microseconds(s, all, values); }, [&] { return microseconds(s, one, values); });
  return {.unit = "us", .measured = summarize(us), .verdict = "the same list with tasks that count has every one"};
}

figure submit_to_done(bool all_workers) {
  auto const workers = all_workers ? multiprocessors() : 1;
  auto const most = all_workers ? 0u : 1u;
  expect_columns(1, workers, most);
  gpu_tensor const x(data_type::int32, 1, workers), y(data_type::int32, 1, workers);
  session s(gpu(most), probe_list::table);
  auto plan = make_columns(1, workers, tick::rest);
  expect(plan.records.size() == static_cast<std::size_t>(workers), "submit_to_done: not a task a worker");
  auto const p = s.load(std::move(plan));
  auto const values = step().bind("x", x.view()).bind("y", y.view());
  constexpr std::uint32_t warm_up = 100, runs = 5000;
  for (std::uint32_t i = 0; i < warm_up; ++i) (void)microseconds(s, p, values);
  std::vector<double> us;
  for (std::uint32_t i = 0; i < runs; ++i) us.push_back(microseconds(s, p, values));
  expect_steps(s, p, warm_up + runs);
  return {.unit = "us",
          .measured = summarize(us),
          .verdict = "all submissions were steps of one kernel start; tasks that count all run"};
}

figure doorbell() {
  auto us = doorbell_round_trips(20000);
  us.erase(us.begin(), us.begin() + 100);
  return {.unit = "us", .measured = summarize(us), .verdict = "every answer is the number that was asked"};
}

figure counter_edge(bool streaming) {
  edge_chain chain{.workers = multiprocessors(), .edges = 512, .laps = streaming ? 32 : 0, .words = row_words};
  auto const rows = chain.workers - 2;
  gpu_tensor const x(data_type::int32, 1, 1);
  gpu_tensor const first(data_type::int32, 1, 1), last(data_type::int32, 1, 1), read(data_type::int32, rows, 2);
  session s(gpu(), probe_list::table);
  weight_rows weights;
  auto values = step().bind("x", x.view()).bind("first", first.view()).bind("last", last.view());
  if (streaming) {
    weights = make_rows(rows, row_words);
    s.set_constant("weights", weights.values);
    values.bind("rows", read.view());
  }
  auto const timed = s.load(make_edges(chain));
  chain.count = true;
  auto const counting = s.load(make_edges(chain));

  s.submit(counting, values).wait();
  expect(last.numbers()[0] == chain.edges + 1,
         "edge: a chain that counts ends at " + std::to_string(last.numbers()[0]));
  std::vector<double> us;
  for (int run = -3; run < 30; ++run) {
    s.submit(timed, values).wait();
    auto const end = static_cast<std::uint32_t>(last.numbers()[0]);
    auto const ns = end - static_cast<std::uint32_t>(first.numbers()[0]);
    if (run >= 0) us.push_back(ns * 1e-3 / static_cast<double>(chain.edges));
    if (!streaming) continue;
    auto const found = read.numbers();
    expect_sums(found, weights.sums, chain.laps);
    for (std::size_t r = 0; r < found.size(); r += 2)
      expect(static_cast<std::int32_t>(static_cast<std::uint32_t>(found[r]) - end) > 0,
             "edge: a worker had read its weights before the chain ended");
  }
  return {.unit = "us",
          .measured = summarize(us),
          .verdict = streaming ? "a chain that counts is complete; all other workers stream until after its end, and "
                                 "their sums are right"
                               : "a chain that counts is complete"};
}

figure join() {
  session s(gpu(), probe_list::table);
  auto const p = s.load(make_nothing(multiprocessors()));
  constexpr std::uint32_t steps = 1000, runs = 50;
  auto const more = step().repeat(steps + 1), once = step();
  auto const us =
      differences(runs, steps, [&] { return microseconds(s, p, more); }, [&] { return microseconds(s, p, once); });
  expect_steps(s, p, (runs + 3) * (steps + 2));
  return {.unit = "us", .measured = summarize(us), .verdict = "every step was counted, in one kernel start"};
}

} // namespace mk::bench
