#pragma once

/// Forty operations that differ in a number: what a kernel instance of many inlined warpgroup products costs.
///
/// Variant V: y = factor * f(A * B'), f by V. A is [128, 64 tiles], B [64, 64 tiles], both bf16 and cut into tiles of
/// 64 columns that lie swizzled, as warpgroup products read them (tylo/lane/wgmma.hpp); both are constants.

#include <megakernels/ops/handler.hpp>
#include <megakernels/tylo/lane/wgmma.hpp>
#include <megakernels/tylo/numbers.hpp>

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

namespace mk::probes {

inline constexpr std::int64_t variant_rows = 128;
inline constexpr std::int64_t variant_columns = 64;
inline constexpr std::int64_t variant_depth = 64; ///< of a tile

/// Exact on whole numbers, as long as they stay below 2^24.
template <int V, class T> TYLO_FN T variant_result(T sum, T factor) {
  constexpr int kind = V / 2 % 5;
  if constexpr (kind == 0) return sum * factor;
  if constexpr (kind == 1) return (sum > 0 ? sum : 0) * factor;
  if constexpr (kind == 2) return (sum > 0 ? sum : -sum) * factor;
  if constexpr (kind == 3) return (sum + T(V)) * factor;
  if constexpr (kind == 4) return (sum < T(V) ? sum : T(V)) * factor;
}

/// Byte of an element in a swizzled tile.
TYLO_FN constexpr std::int64_t swizzled_byte(std::int64_t row, std::int64_t column) {
  auto const at = row * 128 + column * 2;
  return at ^ (at >> 7 & 7) << 4;
}

template <int V>
inline constexpr std::array<char, 10> variant_name{
    'v', 'a', 'r', 'i', 'a', 'n', 't', '_', static_cast<char>('0' + V / 10), static_cast<char>('0' + V % 10)};

template <int V> struct variant {
  static constexpr std::string_view name{variant_name<V>.data(), variant_name<V>.size()};
  static constexpr std::uint32_t revision = 1;

  struct arguments {
    float factor = 1;
  };

  enum : int { a, b, y };
  static constexpr std::array slots{input("a"), input("b"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const& q) {
    for (int slot : {a, b}) {
      q.expect_rank(slot, 3);
      q.expect_type(slot, {data_type::bf16});
      q.expect_extent(slot, 1, {.capacity = slot == a ? variant_rows : variant_columns}, "rows of a tile");
      q.expect_extent(slot, 2, {.capacity = variant_depth}, "columns of a tile");
    }
    q.expect_same(b, 0, a, 0);
    output_shape made;
    made.desc = dense(data_type::fp32, variant_rows, variant_columns);
    return {made};
  }

  static work_shape work(arguments const&, std::span<tensor_desc const>) { return {}; }

  static void regions(arguments const&, std::span<tensor_desc const>, task const&, region_list& r) {
    r.read(a);
    r.read(b);
    r.write(y);
  }

  static cost cost_of(arguments const&, std::span<tensor_desc const> o, task const&) {
    auto const depth = static_cast<double>(o[a].extents[0].capacity * variant_depth);
    return {.bytes = depth * 2 * (variant_rows + variant_columns),
            .operations = depth * 2 * variant_rows * variant_columns};
  }

  template <class Accumulate> static void reference(arguments const& arg, std::span<tensor_view const> o, task const&) {
    auto const element = [&](int slot, std::int64_t tile, std::int64_t row, std::int64_t column) {
      tylo::bf16 value;
      std::memcpy(&value, o[static_cast<std::size_t>(slot)].at(tile) + swizzled_byte(row, column), sizeof value);
      return static_cast<Accumulate>(static_cast<float>(value));
    };
    for (std::int64_t r = 0; r < variant_rows; ++r)
      for (std::int64_t c = 0; c < variant_columns; ++c) {
        Accumulate sum = 0;
        for (std::int64_t tile = 0; tile < o[a].extent(0); ++tile)
          for (std::int64_t k = 0; k < variant_depth; ++k) sum += element(a, tile, r, k) * element(b, tile, c, k);
        auto const result = static_cast<float>(variant_result<V>(sum, static_cast<Accumulate>(arg.factor)));
        std::memcpy(o[y].at(r, c), &result, sizeof result);
      }
  }
};

/// The sums of a warpgroup, in one product of 64 columns or in eight of 8.
template <bool Wide> struct variant_sums;

template <> struct variant_sums<true> {
  tylo::accumulator<64> sums{};

  TYLO_FN void multiply(std::byte const* a, std::byte const* b, unsigned k, bool accumulate) {
    tylo::multiply(sums, tylo::factor_of(a, k), tylo::factor_of(b, k), accumulate);
  }
  TYLO_FN void await() { tylo::await_products<0>(sums); }
  template <class F> TYLO_FN void for_each(unsigned thread, F f) {
    for (unsigned i = 0; i < 32; ++i)
      f(tylo::accumulator_row(thread, i), tylo::accumulator_column(thread, i), sums.values[i]);
  }
};

template <> struct variant_sums<false> {
  tylo::accumulator<8> sums[8]{};

  TYLO_FN void multiply(std::byte const* a, std::byte const* b, unsigned k, bool accumulate) {
    for (unsigned n = 0; n < 8; ++n)
      tylo::multiply(sums[n], tylo::factor_of(a, k), tylo::factor_of(b + n * 1024, k), accumulate);
  }
  TYLO_FN void await() {
    for (auto& s : sums) tylo::await_products<0>(s);
  }
  template <class F> TYLO_FN void for_each(unsigned thread, F f) {
    for (unsigned n = 0; n < 8; ++n)
      for (unsigned i = 0; i < 4; ++i)
        f(tylo::accumulator_row(thread, i), n * 8 + tylo::accumulator_column(thread, i), sums[n].values[i]);
  }
};

} // namespace mk::probes

namespace mk {

template <int V> struct handler<probes::variant<V>> {
  using op = probes::variant<V>;
  static constexpr std::uint32_t pages = 2;
  static constexpr std::uint32_t a_bytes = 16384, b_bytes = 8192;
  static constexpr int tiles_at_once = 1 + V / 10;

  template <class Context> static TYLO_FN void load(Context& context, typename op::arguments const&, task const&) {
    auto const& a = context.operand(op::a);
    for (std::int64_t tile = 0; tile < a.extent(0); ++tile) {
      auto* const to = context.acquire_span(pages, a_bytes + b_bytes);
      context.copy(to, a.at(tile), a_bytes);
      context.copy(to + a_bytes, context.operand(op::b).at(tile), b_bytes);
    }
  }

  template <class Context>
  static TYLO_FN void compute(Context& context, typename op::arguments const& arg, task const&) {
    static_assert(Context::threads == 2 * tylo::warpgroup_size);
    auto const group = context.thread() / tylo::warpgroup_size, thread = context.thread() % tylo::warpgroup_size;
    auto const tiles = context.operand(op::a).extent(0);
    probes::variant_sums<V % 2 == 0> sums{};
    for (std::int64_t first = 0; first < tiles; first += tiles_at_once) {
      std::byte const* spans[tiles_at_once];
      for (int i = 0; i < tiles_at_once; ++i) spans[i] = first + i < tiles ? context.wait_span(pages) : nullptr;
      tylo::fence_products();
      for (int i = 0; i < tiles_at_once; ++i)
        for (unsigned k = 0; k < probes::variant_depth; k += tylo::product_depth)
          if (first + i < tiles)
            sums.multiply(spans[i] + group * (a_bytes / 2), spans[i] + a_bytes, k, first + i > 0 || k > 0);
      tylo::commit_products();
      sums.await();
      for (int i = 0; i < tiles_at_once; ++i)
        if (first + i < tiles) context.release_span(pages);
    }
    auto const& y = context.operand(op::y);
    sums.for_each(thread, [&](unsigned row, unsigned column, float sum) {
      *reinterpret_cast<float*>(y.at(group * tylo::product_rows + row, column)) =
          probes::variant_result<V>(sum, arg.factor);
    });
  }
};

} // namespace mk
