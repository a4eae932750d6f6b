#pragma once

/// Conversion and packing of fragments in kernels that the emulator and a GPU both run: every thread takes neighbours
/// from an array, and what it makes of them goes to another array.

#include <megakernels/tylo/fragment/pack.hpp>
#include <megakernels/tylo/fragment/reduce.hpp>
#include <megakernels/tylo/lane/cluster.hpp>
#include <megakernels/tylo/lane/thread.hpp>

#include <cstdint>

namespace mk::test {

inline constexpr unsigned conversion_threads = 128;

struct conversion_arguments {
  void const* from;
  void* to;
  void* other;    ///< the same, made in another way
  unsigned count; ///< of numbers: a multiple of 8
};

namespace detail {

template <class From, int Slots> TYLO_FN auto neighbours(From const* from) {
  tylo::fragment<From, tylo::local<tylo::axis::columns>(Slots)> f;
  TYLO_UNROLL for (int s = 0; s < Slots; ++s) f.data[s] = from[s];
  return f;
}

template <class T, int Count> TYLO_FN void write(T* to, T const (&values)[Count]) {
  TYLO_UNROLL for (int i = 0; i < Count; ++i) to[i] = values[i];
}

/// Calls `f` with the number of each group that is the calling thread's.
template <class F> TYLO_FN void for_own(unsigned groups, F f) {
  auto const first = tylo::cta_rank() * conversion_threads + tylo::thread_rank();
  for (auto i = first; i < groups; i += tylo::cta_count() * conversion_threads) f(i);
}

} // namespace detail

/// Numbers as others, in fragments of `Slots`: `count` is a multiple of that.
template <class To, class From, int Slots> TYLO_FN void convert_array(conversion_arguments const& g) {
  detail::for_own(g.count / Slots, [&g](unsigned i) {
    auto const f = detail::neighbours<From, Slots>(static_cast<From const*>(g.from) + i * Slots);
    detail::write(static_cast<To*>(g.to) + i * Slots, tylo::convert<To>(f).data);
  });
}

/// Numbers as packed others: at once, and first converted.
template <class To, class From> TYLO_FN void pack_array(conversion_arguments const& g) {
  detail::for_own(g.count / 8, [&g](unsigned i) {
    auto const f = detail::neighbours<From, 8>(static_cast<From const*>(g.from) + i * 8);
    auto const p = tylo::pack<To>(f);
    detail::write(static_cast<std::uint32_t*>(g.to) + i * p.words, p.data);
    detail::write(static_cast<std::uint32_t*>(g.other) + i * p.words, tylo::pack(tylo::convert<To>(f)).data);
  });
}

/// Packed numbers as others: at once, and first unpacked.
template <class To, class From> TYLO_FN void unpack_array(conversion_arguments const& g) {
  using packed = tylo::packed_fragment<From, tylo::local<tylo::axis::columns>(8)>;
  detail::for_own(g.count / 8, [&g](unsigned i) {
    packed p;
    auto const* const from = static_cast<std::uint32_t const*>(g.from) + i * p.words;
    TYLO_UNROLL for (int w = 0; w < p.words; ++w) p.data[w] = from[w];
    detail::write(static_cast<To*>(g.to) + i * 8, tylo::convert<To>(p).data);
    detail::write(static_cast<To*>(g.other) + i * 8, tylo::convert<To>(tylo::unpack(p)).data);
  });
}

/// Rows in e4m3, each with its scale: what a row's codes stand for is `scale` times their values.
struct quantize_arguments {
  float const* from;    ///< [4, 128]
  std::uint32_t* words; ///< [4, 32]: four neighbours in each
  float* scales;        ///< [4]
};

inline constexpr int quantized_rows = 4, quantized_columns = 128;

/// By one warp. A row of zeros has scale 1.
TYLO_FN inline void quantize(quantize_arguments const& g) {
  using namespace tylo;
  using tylo::axis; // not that of graphs
  constexpr auto owned = tiled(striped<axis::columns>(1, 4), {quantized_rows, 1});
  auto const lane = lane_rank();
  fragment<float, owned> x;
  TYLO_UNROLL for (int s = 0; s < x.slots; ++s) {
    auto const row = unsigned(s) / 4, column = lane * 4 + unsigned(s) % 4;
    x.data[s] = g.from[row * quantized_columns + column];
  }
  auto const most = max<axis::columns>(this_warp{}, map(larger_value{}, x, -x));
  auto const exact = most / 448.0f;
  auto const scale = select(exact > 0.0f, exact, 1.0f); // of tiny numbers it would be 0, too
  auto const codes = pack<e4m3>(x / scale);
  TYLO_UNROLL for (int row = 0; row < quantized_rows; ++row) {
    g.words[unsigned(row) * warp_size + lane] = codes.data[row];
    if (lane == 0) g.scales[row] = scale.data[row];
  }
}

} // namespace mk::test
