// Packed fragments and conversions. docs/tylo/packing.md

#include "packing.hpp"

#include "kit.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

namespace examples::packing {
namespace {

constexpr auto two = local<axis::columns>(2);
constexpr auto four = local<axis::columns>(4);

void show_words() {
  // [words]
  auto const p = pack<fp16>(fragment<float, two>{{1.0f, -2.0f}}); // converts and packs
  std::printf("fp16 of 1 and -2: one word, %08x\n", p.data[0]);
  auto const q = pack<std::int8_t>(fragment<int, four>{{1, -1, 127, 1000}});
  std::printf("int8 of 1, -1, 127 and 1000: one word, %08x\n", q.data[0]);
  auto const back = convert<float>(p); // as convert<float>(unpack(p))
  std::printf("back in fp32: %g and %g\n", static_cast<double>(back.data[0]), static_cast<double>(back.data[1]));
  // [/words]
  kit::failures += p.data[0] == 0xC0003C00 && q.data[0] == 0x7F7FFF01 && back.data[1] == -2 ? 0 : 1;
}

void show_bits() {
  // [bits]
  auto const odd = bf16::from_bits(0x7F81), subnormal = bf16::from_bits(0x8001); // a signalling NaN with a payload
  auto const p = pack(fragment<bf16, two>{{odd, subnormal}});
  auto const same = unpack(p);
  auto const wide = convert<float>(p);
  auto const small = convert<bf16>(wide);
  std::printf("packed %08x, unpacked %04x and %04x\n", p.data[0], unsigned{same.data[0].bits},
              unsigned{same.data[1].bits});
  std::printf("by way of fp32: %04x and %04x\n", unsigned{small.data[0].bits}, unsigned{small.data[1].bits});
  // [/bits]
  kit::failures += same.data[0].bits == 0x7F81 && small.data[0].bits == 0x7FFF ? 0 : 1;
}

// [rounding]
void show_rounding() {
  double const x = 1 + 0x1p-8 + 0x1p-40; // 2^-40 above the middle of two bf16
  auto const once = convert_to<bf16>(x), twice = convert_to<bf16>(static_cast<float>(x));
  std::printf("1 + 2^-8 + 2^-40 in bf16: %04x; rounded to fp32 before: %04x\n", unsigned{once.bits},
              unsigned{twice.bits});
  std::printf("2^30 + 2^22 + 1, an int32, in bf16: %04x\n", unsigned{convert_to<bf16>(0x40400001).bits});
}
// [/rounding]

void show_ends() {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // [ends]
  for (float const x : {464.0f, 1e6f, inf, nan, -0.0f, -2.5f})
    std::printf("%6g: bf16 %04x, fp16 %04x, e4m3 %02x, e5m2 %02x, int32 %d, uint8 %d\n", static_cast<double>(x),
                unsigned{convert_to<bf16>(x).bits}, unsigned{convert_to<fp16>(x).bits},
                unsigned{convert_to<e4m3>(x).bits}, unsigned{convert_to<e5m2>(x).bits}, convert_to<std::int32_t>(x),
                convert_to<std::uint8_t>(x));
  // [/ends]
}

void run_quantize() {
  auto values = kit::numbers(3 * 512, 20);
  std::fill_n(values.begin() + 512, 512, 0.0f);
  kit::emulator::array<float> const x(values, "x"), scales(3, {}, "scales");
  kit::emulator::array<e4m3> const codes(values.size(), {}, "codes");
  auto const kernel = [x = x.data(), codes = codes.data(), scales = scales.data()] { quantize(x, codes, scales, 3); };
  emulator::launch({.ctas = 3, .threads = 32}, {.seed = 1}, kernel);
  bool right = true;
  for (std::size_t row = 0; row < 3; ++row) {
    float most = 0;
    for (std::size_t i = row * 512; i < row * 512 + 512; ++i) most = std::max(most, std::abs(values[i]));
    auto const scale = most > 0 ? most / 448 : 1;
    right = right && scales[row] == scale;
    for (std::size_t i = row * 512; i < row * 512 + 512; ++i)
      right = right && codes[i].bits == e4m3(values[i] / scale).bits;
  }
  kit::say("codes and scales", right);
}

/// Whole numbers, so that sums are exact.
std::vector<bf16> whole(std::size_t count) {
  auto result = kit::numbers(count, 4);
  for (auto& v : result) v = std::nearbyint(v);
  return kit::as<bf16>(result);
}

void run_products() {
  auto const xs = whole(256), ws = whole(256), us = whole(128);
  kit::emulator::array<bf16> const x(xs, "x"), w(ws, "w"), u(us, "u");
  kit::emulator::array<float> const y(128, {}, "y");
  emulator::launch({.threads = 32}, {},
                   [x = x.data(), w = w.data(), u = u.data(), y = y.data()] { two_products(x, w, u, y, 0.5f); });
  std::vector<bf16> inner;
  auto const product = [](std::vector<bf16> const& a, std::vector<bf16> const& b, std::size_t columns, std::size_t i) {
    float sum = 0;
    for (std::size_t k = 0; k < 16; ++k)
      sum += static_cast<float>(a[i / columns * 16 + k]) * static_cast<float>(b[k * columns + i % columns]);
    return sum;
  };
  for (std::size_t i = 0; i < 256; ++i) inner.push_back(bf16(product(xs, ws, 16, i) * 0.5f));
  bool right = true;
  for (std::size_t i = 0; i < 128; ++i) right = right && y[i] == product(inner, us, 8, i);
  kit::say("two products", right);
}

} // namespace
} // namespace examples::packing

int main() {
  using namespace examples::packing;
  show_words();
  std::puts("");
  show_bits();
  std::puts("");
  show_rounding();
  std::puts("");
  show_ends();
  std::puts("");
  run_quantize();
  run_products();
  return kit::failures == 0 ? 0 : 1;
}
