#pragma once

/// The random numbers of `sample`: a counter-based generator, whose output is a function of key and counter alone.
/// Source: Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011 (Philox4x32-10).

#include <megakernels/tylo/target.hpp>

#include <array>
#include <cstdint>

namespace mk::sampling {

/// Ten rounds of Philox with four 32-bit words and a key of two.
TYLO_FN constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                          std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const first = std::uint64_t{0xD2511F53u} * counter[0];
    std::uint64_t const second = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u}; // golden ratio; sqrt(3) - 1
  }
  return counter;
}

/// The number in [0, 1), with 53 random bits, of draw `counter` of `seed`: Philox with the counter in word 0 and the
/// seed in word 0 of the key, all other words 0; 27 bits of output word 0, then 26 of word 1.
TYLO_FN constexpr double uniform(std::int32_t seed, std::int32_t counter) {
  auto const words = philox4x32({static_cast<std::uint32_t>(counter), 0, 0, 0}, {static_cast<std::uint32_t>(seed), 0});
  auto const bits = (std::uint64_t{words[0] >> 5} << 26) | (words[1] >> 6);
  return static_cast<double>(bits) * 0x1p-53;
}

} // namespace mk::sampling
