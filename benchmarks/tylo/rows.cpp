#include <megakernels/kernels/full.hpp>
#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/tylo/numbers.hpp>

#include "cuda/gpu_facts.hpp"
#include "cuda/gpu_tensor.hpp"
#include "cuda/submissions.hpp"
#include "kit/suite.hpp"
#include "tylo/benchmarks.hpp"

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstring>
#include <random>
#include <span>

namespace mk::bench {
namespace {

using tylo::bf16;

/// GB/s of bytes read and written, the best of 20 copies.
double copy_rate(std::byte* to, std::byte const* from, std::uint64_t bytes) {
  cudaEvent_t start = nullptr, end = nullptr;
  cuda::expect(cudaEventCreate(&start), "cudaEventCreate");
  cuda::expect(cudaEventCreate(&end), "cudaEventCreate");
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    float ms = 0;
    cuda::expect(cudaEventRecord(start), "cudaEventRecord");
    cuda::expect(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice), "cudaMemcpyAsync");
    cuda::expect(cudaEventRecord(end), "cudaEventRecord");
    cuda::expect(cudaEventSynchronize(end), "cudaEventSynchronize");
    cuda::expect(cudaEventElapsedTime(&ms, start, end), "cudaEventElapsedTime");
    best = std::max(best, 2e-6 * static_cast<double>(bytes) / static_cast<double>(ms));
  }
  cudaEventDestroy(start);
  cudaEventDestroy(end);
  return best;
}

/// Normal numbers; most of a large tensor is the same few rows again, so that it is made in little time.
std::vector<bf16> normal_numbers(std::int64_t rows, std::int64_t columns) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(0, 2);
  std::vector<bf16> numbers(static_cast<std::size_t>(rows * columns));
  auto const fresh = std::min<std::size_t>(numbers.size(), 61 * static_cast<std::size_t>(columns));
  for (std::size_t i = 0; i < fresh; ++i) numbers[i] = bf16(normal(random));
  for (std::size_t i = fresh; i < numbers.size(); ++i) numbers[i] = numbers[i - fresh];
  return numbers;
}

using row = std::span<bf16 const>;

/// Checks rows from all over the tensor: `right(x, y)` throws where y is not what x makes.
template <class Right>
void check_rows(std::vector<bf16> const& x, std::vector<std::byte> const& raw, std::int64_t columns, Right right) {
  std::vector<bf16> y(raw.size() / sizeof(bf16));
  std::memcpy(y.data(), raw.data(), raw.size());
  auto const width = static_cast<std::size_t>(columns);
  for (std::size_t at = 0; at < x.size(); at += width * 37) right(row(x).subspan(at, width), row(y).subspan(at, width));
}

void expect_close(bf16 found, double right, char const* what) {
  expect(std::abs(static_cast<double>(static_cast<float>(found)) - right) <= std::abs(right) / 128,
         std::string(what) + ": a result is " + std::to_string(static_cast<float>(found)) + ", not " +
             std::to_string(right));
}

/// Nodes of the step that is measured, each with tensors of its own: the start and the end of a step are no part of an
/// operation.
constexpr int nodes = 8;

std::string numbered(char const* name, int i) { return std::string(name) + std::to_string(i); }

/// Times a node of a program: `add` makes it, y from x.
template <class Add, class Right> figure measure(std::int64_t rows, std::int64_t columns, Add add, Right right) {
  graph g("rows");
  step once;
  std::vector<gpu_tensor> x, y;
  auto const numbers = normal_numbers(rows, columns);
  for (int i = 0; i < nodes; ++i) {
    auto const from = g.input(numbered("x", i), data_type::bf16, {{"row", rows}, {"column", columns}});
    g.output(numbered("y", i), add(g, numbered("node", i), from));
    x.emplace_back(data_type::bf16, rows, columns).set(std::as_bytes(std::span(numbers)));
    y.emplace_back(data_type::bf16, rows, columns);
    once.bind(numbered("x", i), x.back().view()).bind(numbered("y", i), y.back().view());
  }
  auto const limit = copy_rate(y.front().view().data, x.front().view().data, x.front().size_bytes());

  constexpr std::int64_t steps = 4;
  session s(cuda_device{.kernel = &kernels::full()}, full_operations);
  auto const p = s.load(compile(g, {.workers = multiprocessors()}, full_operations));
  auto more = once;
  more.repeat(steps + 1);
  auto us = differences(
      20, steps * nodes, [&] { return microseconds(s, p, more); }, [&] { return microseconds(s, p, once); });
  for (auto const& result : y) check_rows(numbers, result.bytes(), columns, right);
  for (auto& t : us) t *= 1e-6;
  return {.unit = "GB/s",
          .measured = summarize(rates(2e-9 * static_cast<double>(x.front().size_bytes()), us)),
          .limit = limit,
          .verdict = "every 37th row is right to a bf16 step"};
}

} // namespace

figure softmax_rows(std::int64_t rows, std::int64_t columns) {
  auto const add = [](graph& g, std::string const& name, value x) {
    return g.add<softmax>(name, {.type = data_type::bf16}, {x})[0];
  };
  return measure(rows, columns, add, [](row in, row out) {
    double largest = -1e30, sum = 0;
    for (auto v : in) largest = std::max(largest, static_cast<double>(static_cast<float>(v)));
    for (auto v : in) sum += std::exp(static_cast<double>(static_cast<float>(v)) - largest);
    for (std::size_t i = 0; i < in.size(); ++i)
      expect_close(out[i], std::exp(static_cast<double>(static_cast<float>(in[i])) - largest) / sum, "softmax");
  });
}

figure rms_norm_rows(std::int64_t rows, std::int64_t columns) {
  auto const add = [](graph& g, std::string const& name, value x) {
    return g.add<rms_norm>(name, {.type = data_type::bf16}, {x})[0];
  };
  return measure(rows, columns, add, [columns](row in, row out) {
    double squares = 0;
    for (auto v : in) squares += std::pow(static_cast<double>(static_cast<float>(v)), 2);
    auto const scale = 1 / std::sqrt(squares / static_cast<double>(columns) + 1e-5);
    for (std::size_t i = 0; i < in.size(); ++i)
      expect_close(out[i], static_cast<double>(static_cast<float>(in[i])) * scale, "rms_norm");
  });
}

} // namespace mk::bench
