#include "cuda/random_weights.hpp"

#include <megakernels/ops/error.hpp>
#include <megakernels/ops/operation_list.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <thread>
#include <vector>

namespace mk::bench {
namespace {

/// SplitMix64, counter-based: Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t counter) {
  auto z = seed + (counter + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::uint64_t seed_of(std::string_view name) {
  detail::fnv1a hash;
  hash.add_text(name);
  return hash.state;
}

/// Numbers from middle - reach to middle + reach.
struct spread {
  float middle = 0;
  float reach = 0;
};

spread spread_of(std::string_view name, tensor const& t) {
  if (name == "rope_freqs.weight") return {1, 0};
  if (t.rank() == 1) return {1, 0.1f};
  return {0, std::sqrt(3.0f / static_cast<float>(t.extent(1)))};
}

/// Elements [begin, end), four of each number of 64 bits; `begin` is a multiple of 4.
template <class T> void fill(std::span<T> all, std::size_t begin, std::size_t end, std::uint64_t seed, spread s) {
  for (auto i = begin; i < end; i += 4) {
    auto const bits = mixed(seed, i / 4);
    for (std::size_t j = 0; j < 4 && i + j < end; ++j) {
      auto const part = static_cast<std::int16_t>(bits >> (16 * j));
      all[i + j] = T(s.middle + s.reach * (static_cast<float>(part) + 0.5f) / 32768.0f);
    }
  }
}

template <class T> void fill_on_all_cores(tensor& t, std::uint64_t seed, spread s) {
  auto const all = t.span<T>();
  auto const count = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  auto const share = (all.size() / count + 4) / 4 * 4;
  std::vector<std::jthread> threads;
  for (std::size_t begin = 0; begin < all.size(); begin += share)
    threads.emplace_back([=] { fill(all, begin, std::min(begin + share, all.size()), seed, s); });
}

} // namespace

named_tensors make_random_constants(program const& p) {
  named_tensors result;
  for (auto const& b : p.buffers) {
    if (b.kind != buffer_kind::constant) continue;
    auto const& desc = p.tensors[static_cast<std::size_t>(b.root)].desc;
    std::array<std::int64_t, max_rank> extents{};
    for (std::size_t i = 0; i < max_rank; ++i) extents[i] = desc.extents[i].capacity;
    auto made = std::make_shared<tensor>(desc.type, std::span(extents).first(static_cast<std::size_t>(desc.rank)));
    auto const s = spread_of(b.name, *made);
    if (desc.type == data_type::bf16)
      fill_on_all_cores<tylo::bf16>(*made, seed_of(b.name), s);
    else if (desc.type == data_type::fp32)
      fill_on_all_cores<float>(*made, seed_of(b.name), s);
    else
      throw error("constant '" + b.name + "' is neither bf16 nor fp32");
    result.emplace(b.name, std::move(made));
  }
  return result;
}

} // namespace mk::bench
