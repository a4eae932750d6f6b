#include <megakernels/tylo/emulator/launch.hpp>
#include <megakernels/tylo/emulator/memory.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/mma.hpp>
#include <megakernels/tylo/lane/thread.hpp>

#include "emulator/benchmarks.hpp"
#include "kit/suite.hpp"
#include "kit/timing.hpp"

#include <string>

namespace mk::bench {
namespace {

using namespace tylo;
using emulator::array;
using emulator::launch;

constexpr std::size_t runs = 15;
constexpr unsigned edge = 32, row_bytes = edge * 2; // of the factors, bf16

/// Each lane is given the number of the next one, again and again.
TYLO_FN void pass_round(unsigned* out, unsigned times) {
  auto mine = lane_rank();
  for (unsigned i = 0; i < times; ++i) mine = shuffle(mine, (lane_rank() + 1) % warp_size);
  out[lane_rank()] = mine;
}

TYLO_FN constexpr unsigned element_of_a(unsigned m, unsigned k) { return (m + k) % 4; }
TYLO_FN constexpr unsigned element_of_b(unsigned n, unsigned k) { return (n + 3 * k) % 5; }

/// out(m, n) becomes `steps` times the sum over k of a(m, k) * b(n, k).
TYLO_FN void multiply_again(float* out, unsigned steps) {
  auto* const a_there = reinterpret_cast<bf16*>(shared_memory());
  auto* const b_there = a_there + edge * edge;
  auto const lane = lane_rank();
  for (unsigned k = 0; k < edge; ++k) {
    a_there[lane * edge + k] = bf16(static_cast<float>(element_of_a(lane, k)));
    b_there[lane * edge + k] = bf16(static_cast<float>(element_of_b(lane, k)));
  }
  sync_warp();
  float sums[2][4][4] = {};
  std::uint32_t a[2][2][4], b[4][2][2];
  for (unsigned step = 0; step < steps; ++step) {
    for (unsigned d = 0; d < 2; ++d)
      for (unsigned half = 0; half < 2; ++half) {
        load_matrices(a[half][d], a_there + (half * 16 + lane % 16) * edge + d * 16 + lane / 16 * 8);
        std::uint32_t two[4]; // tiles of b
        load_matrices(two, b_there + (half * 16 + lane / 16 * 8 + lane % 8) * edge + d * 16 + lane / 8 % 2 * 8);
        for (unsigned i = 0; i < 4; ++i) b[half * 2 + i / 2][d][i % 2] = two[i];
      }
    mma_tiles<bf16>(sums, a, b);
  }
  for (unsigned r = 0; r < 2; ++r)
    for (unsigned c = 0; c < 4; ++c)
      for (unsigned i = 0; i < 4; ++i)
        out[(r * 16 + i / 2 * 8 + lane / 4) * edge + c * 8 + lane % 4 * 2 + i % 2] = sums[r][c][i];
}

} // namespace

figure fiber_switch() {
  constexpr unsigned times = 20'000;
  array<unsigned> const out(warp_size);
  std::uint64_t switches = 0;
  auto const seconds = time_runs(runs, [&] {
    switches = launch({}, {}, [out = out.data()] { pass_round(out, times); }).switches;
    for (unsigned i = 0; i < warp_size; ++i)
      expect(out[i] == (i + times) % warp_size, "emulator/fiber_switch: a lane has the wrong number");
  });
  return {.unit = "1/s",
          .measured = summarize(rates(static_cast<double>(switches), seconds)),
          .verdict = "every lane has the number of its neighbour, " + std::to_string(times) + " times over"};
}

figure mma_sync(bool batched, bool races) {
  constexpr unsigned steps = 2'000;
  array<float> const out(edge * edge);
  std::uint64_t products = 0;
  auto const seconds = time_runs(runs, [&] {
    emulator::options how;
    how.batched = batched;
    how.races = races;
    products = launch({.shared_bytes = 2 * edge * row_bytes}, how, [out = out.data()] {
                 multiply_again(out, steps);
               }).products;
  });
  for (unsigned m = 0; m < edge; ++m)
    for (unsigned n = 0; n < edge; ++n) {
      unsigned sum = 0;
      for (unsigned k = 0; k < edge; ++k) sum += element_of_a(m, k) * element_of_b(n, k);
      expect(out[m * edge + n] == static_cast<float>(sum * steps), "emulator/mma_sync: a sum is wrong");
    }
  expect(products == 16 * steps, "emulator/mma_sync: " + std::to_string(products) + " products");
  return {.unit = "1/s",
          .measured = summarize(rates(static_cast<double>(products), seconds)),
          .verdict = "all sums are those of plain loops"};
}

} // namespace mk::bench
