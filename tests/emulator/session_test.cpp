/// The persistent kernel and the handlers, run by sessions on an emulated GPU, beside the host.

#include <megakernels/kernels/small.hpp>
#include <megakernels/ops/error.hpp>

#include "../runtime/layer_program.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mk::test {
namespace {

emulator_device emulated(std::uint64_t seed, std::uint32_t workers = 3) {
  emulator_device d{.kernel = &kernels::small(), .workers = workers};
  d.how.seed = seed;
  return d;
}

TEST(emulator_session, whole_numbers_have_the_bits_of_the_host_whatever_the_schedule) {
  layer_program const layer;
  session host(host_device{}, small_operations);
  layer.set_constants(host);
  auto const on_host = host.load(layer.make(2));
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    session s(emulated(seed), small_operations);
    layer.set_constants(s);
    auto const p = s.load(layer.make(3));
    for (std::int64_t const rows : {8, 0, 3})
      EXPECT_EQ(bytes_of(layer.run(s, p, rows, seed)), bytes_of(layer.run(host, on_host, rows, seed)))
          << "seed " << seed << ", " << rows << " rows";
  }
}

} // namespace
} // namespace mk::test
