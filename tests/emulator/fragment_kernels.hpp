#pragma once

/// Kernels of fragments that the emulator and a GPU both run. A case is a kernel with its launch: what it is given
/// (`arguments`, of which the runner sets `out`), how many `outputs` it writes, and `run`, which every thread calls.
/// Most write what each thread has in each slot, so that replicas are seen.

#include <megakernels/tylo/fragment/online_softmax.hpp>
#include <megakernels/tylo/fragment/reduce.hpp>
#include <megakernels/tylo/group.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/math.hpp>

#include "../tylo/shapes.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

namespace mk::test {

using tylo::any_fragment;
using tylo::axis;
using tylo::coordinate;
using tylo::fragment;
using tylo::ownership;

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

// --- who takes part

struct one_warp {
  static constexpr unsigned ctas = 1, cluster = 1, threads = 32, groups = 1;
  static TYLO_FN bool takes_part() { return true; }
  static TYLO_FN unsigned group_rank() { return 0; }
  static TYLO_FN auto group() { return tylo::this_warp{}; }
};

template <unsigned Threads> struct one_cta : one_warp {
  static constexpr unsigned threads = Threads;
  static TYLO_FN auto group() { return tylo::whole_cta<Threads>{}; }
};

/// Another warp of the CTA is ahead of them, and does nothing.
template <unsigned Warps> struct some_warps : one_warp {
  static constexpr unsigned threads = 32 * (Warps + 1);
  static TYLO_FN bool takes_part() { return tylo::thread_rank() >= 32; }
  static TYLO_FN auto group() { return tylo::warps<Warps>{1, 3}; }
};

/// Two groups of two warps, each on its own.
struct halves_of_a_warpgroup : one_warp {
  static constexpr unsigned threads = 128, groups = 2;
  static TYLO_FN unsigned group_rank() { return tylo::thread_rank() / 64; }
  static TYLO_FN auto group() { return tylo::warpgroup{0, 1}.part<2>(2); }
};

template <unsigned Threads> struct two_ctas : one_warp {
  static constexpr unsigned ctas = 2, cluster = 2, threads = Threads / 2;
  static TYLO_FN auto group() {
    tylo::cta_pair<Threads / 2> const pair;
    pair.sync();
    return pair;
  }
};

template <ownership O> using usual_group = std::conditional_t<O.threads() == 32, one_warp, one_cta<O.threads()>>;

// --- tiles in memory

/// The elements of a row-major tile.
template <ownership O, class T> TYLO_FN fragment<T, O> read_tile(T const* tile, unsigned rank) {
  fragment<T, O> f;
  TYLO_UNROLL for (int s = 0; s < f.slots; ++s) {
    auto const at = O(rank, static_cast<unsigned>(s));
    f.data[s] = tile[at.row * O.shape.column + at.column];
  }
  return f;
}

/// Each slot of each thread; returns where the next fragment goes.
template <class To, class T, ownership O> TYLO_FN To* write_slots(To* to, fragment<T, O> const& f, unsigned rank) {
  TYLO_UNROLL for (int s = 0; s < f.slots; ++s) to[rank * static_cast<unsigned>(f.slots) + static_cast<unsigned>(s)] =
      static_cast<To>(f.data[s]);
  return to + O.threads() * O.slots();
}

// --- element by element

/// `Expression::of(x, y)` takes fragments; its `expected` two elements.
template <class Expression, class X, class Y, ownership O> struct map_case : usual_group<O> {
  using expression = Expression;
  using x_type = X;
  using y_type = Y;
  static constexpr ownership owned = O;
  using made = decltype(Expression::of(std::declval<fragment<X, O> const&>(), std::declval<fragment<Y, O> const&>()));
  using output = typename made::element;
  static_assert(made::owned == O);
  static constexpr std::size_t outputs = O.threads() * O.slots(), shared_bytes = 0;

  struct arguments {
    X const* x;
    Y const* y;
    output* out;
  };
  static TYLO_FN void run(arguments const& g) {
    auto const rank = usual_group<O>::group().rank();
    write_slots(g.out, Expression::of(read_tile<O>(g.x, rank), read_tile<O>(g.y, rank)), rank);
  }
};

#pragma GCC diagnostic push // numbers of two types are what is tried
#pragma GCC diagnostic ignored "-Wconversion"

/// Equal results to the bit.
struct exact {
  static constexpr double bound = 0;
};

struct arithmetic : exact {
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const& y) { return (x + y) * x - (-y) * y; }
  template <class X, class Y> static auto expected(X x, Y y) { return (x + y) * x - (-y) * y; }
};
struct division : exact {
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const& y) { return x / (y * y + 1); }
  template <class X, class Y> static auto expected(X x, Y y) { return x / (y * y + 1); }
};
struct scalars_on_either_side : exact {
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const& y) { return 2 * x + (x * 3 - 1) - (100 - y); }
  template <class X, class Y> static auto expected(X x, Y y) { return 2 * x + (x * 3 - 1) - (100 - y); }
};
struct with_a_float : exact {
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const&) { return x + 0.5f; }
  template <class X, class Y> static auto expected(X x, Y) { return static_cast<float>(x) + 0.5f; }
};
struct with_a_double : exact {
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const&) { return 1.0 - x; }
  template <class X, class Y> static auto expected(X x, Y) { return 1.0 - static_cast<double>(x); }
};
struct comparisons : exact {
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const& y) {
    static_assert(std::is_same_v<typename decltype(x < y)::element, bool>);
    return 1 * (x < y) + 2 * (x > y) + 4 * (x <= y) + 8 * (x >= y) + 16 * (x == y) + 32 * (x != y) + 64 * (x < 1) +
           128 * (1 <= y);
  }
  template <class X, class Y> static int expected(X x, Y y) {
    int const order = x < y ? 1 + 4 + 32 : y < x ? 2 + 8 + 32 : 4 + 8 + 16;
    return order + (x < 1 ? 64 : 0) + (y < 1 ? 0 : 128);
  }
};
struct logic : exact {
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const& y) {
    return select((x > 0 && y > 0) || !(x < y), x, y);
  }
  template <class X, class Y> static auto expected(X x, Y y) { return (x > 0 && y > 0) || x >= y ? x : y; }
};
struct select_of_scalars : exact {
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const& y) {
    return select(x > y, x, 0.5f) + select(true, x, y) + select(x == y, 1, -1);
  }
  template <class X, class Y> static auto expected(X x, Y y) {
    return (x > y ? static_cast<float>(x) : 0.5f) + static_cast<float>(x) + (x == y ? 1.0f : -1.0f);
  }
};
/// A function of the user's, with constants of its own.
struct affine_relu {
  float a, b;
  TYLO_FN float operator()(float x) const { return x * a + b > 0 ? x * a + b : 0.0f; }
};
struct function_of_the_user : exact {
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const&) { return map(affine_relu{2, 1}, x); }
  template <class X, class Y> static float expected(X x, Y) { return x < 0 ? 0.0f : 2.0f * x + 1; }
};
struct lambda_that_captures : exact {
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const& y) {
    int const more = 5;
    return map([more](auto a, auto b, int c) { return a - b * c + more; }, x, y, 3);
  }
  template <class X, class Y> static auto expected(X x, Y y) { return x - y * 3 + 5; }
};
struct one_rounding : exact {
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const& y) {
    return map([](auto a, auto b, auto c) { return tylo::fused_multiply_add(a, b, c); }, x / 3, y, -x);
  }
  template <class X, class Y> static auto expected(X x, Y y) { return std::fma(x / 3, y, -x); }
};
struct narrowed : exact {
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const&) {
    return map([](float a) { return static_cast<std::int8_t>(a); }, x / 3);
  }
  template <class X, class Y> static std::int8_t expected(X x, Y) { return static_cast<std::int8_t>(x / 3); }
};
struct filled_in : exact {
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const&) { return tylo::filled<X::owned>(7) - x; }
  template <class X, class Y> static auto expected(X x, Y) { return 7 - x; }
};
struct power_of_two {
  static constexpr double bound = 0x1p-22;
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const& y) {
    return map([](float a) { return tylo::exp2_approximate(a); }, x * 0.0625f - y * 0.125f);
  }
  template <class X, class Y> static double expected(X x, Y y) { return std::exp2(double(x) / 16 - double(y) / 8); }
};
struct reciprocal {
  static constexpr double bound = 0x1p-23;
  template <class X, class Y> static TYLO_FN auto of(X const& x, Y const&) {
    return map([](float a) { return tylo::reciprocal_approximate(a); }, x * x + 3);
  }
  template <class X, class Y> static double expected(X x, Y) { return 1 / (double(x) * double(x) + 3); }
};

#pragma GCC diagnostic pop

/// Lists of cases.
template <class... Cases> struct case_list {};

using map_cases = case_list<
    map_case<arithmetic, int, int, shapes::local_rows>, map_case<arithmetic, float, float, shapes::mma_c>,
    map_case<arithmetic, int, float, shapes::striped_row>, map_case<arithmetic, double, float, shapes::patches>,
    map_case<arithmetic, std::int64_t, int, shapes::c_2x2>, map_case<division, int, int, shapes::mma_a>,
    map_case<division, float, float, shapes::local_columns>, map_case<division, double, int, shapes::mma_c>,
    map_case<scalars_on_either_side, int, int, shapes::mma_c>,
    map_case<scalars_on_either_side, float, float, shapes::wgmma_64>,
    map_case<scalars_on_either_side, float, double, shapes::local_rows>,
    map_case<with_a_float, int, int, shapes::mma_c>, map_case<with_a_float, float, int, shapes::mma_c>,
    map_case<with_a_double, float, int, shapes::c_3x1>, map_case<with_a_double, int, int, shapes::mma_b>,
    map_case<comparisons, int, int, shapes::wide_c>, map_case<comparisons, float, float, shapes::striped_column>,
    map_case<comparisons, double, float, shapes::replicated_rows>, map_case<logic, int, int, shapes::equal_pairs>,
    map_case<logic, float, float, shapes::turned_patches>, map_case<select_of_scalars, int, int, shapes::mma_c>,
    map_case<select_of_scalars, float, int, shapes::local_rows>,
    map_case<function_of_the_user, float, int, shapes::wgmma_64>,
    map_case<lambda_that_captures, float, float, shapes::mma_c>,
    map_case<lambda_that_captures, int, std::int64_t, shapes::one_each>,
    map_case<one_rounding, float, float, shapes::mma_c>, map_case<one_rounding, double, double, shapes::mma_c>,
    map_case<narrowed, float, int, shapes::striped_row>, map_case<filled_in, int, int, shapes::mixed_lanes>,
    map_case<filled_in, float, int, shapes::mma_c>, map_case<power_of_two, float, float, shapes::c_4x1>,
    map_case<reciprocal, float, int, shapes::many_rows>>;

/// The axes' names exchanged: slots stay, and what was reduced along one axis is along the other. Writes the slots of
/// the exchanged tile, those with their lines' sums taken away, and the sum itself where a thread has but one.
template <ownership O, axis Along> struct exchange_case : usual_group<O> {
  static constexpr ownership owned = O;
  static constexpr axis along = Along;
  static constexpr ownership sums = tylo::reduced<exchanged(O), other(Along)>;
  static_assert(sums == exchanged(tylo::reduced<O, Along>));
  static constexpr bool one_sum = sums.slots() == 1;
  static constexpr std::size_t outputs = O.threads() * (2 * O.slots() + (one_sum ? 1 : 0)), shared_bytes = 0;
  using output = float;

  struct arguments {
    float const* tile;
    float* out;
  };
  static TYLO_FN void run(arguments const& g) {
    auto const group = usual_group<O>::group();
    auto const x = exchanged(read_tile<O>(g.tile, group.rank()));
    auto const sum = tylo::sum<other(Along)>(group, x);
    auto* const next = write_slots(write_slots(g.out, x, group.rank()), x - sum, group.rank());
    if constexpr (one_sum) next[group.rank()] = only(sum);
  }
};

using exchange_cases =
    case_list<exchange_case<shapes::local_rows, axis::columns>, exchange_case<shapes::local_rows, axis::rows>,
              exchange_case<shapes::mma_c, axis::columns>, exchange_case<shapes::mma_a, axis::rows>,
              exchange_case<shapes::striped_row, axis::columns>, exchange_case<shapes::wgmma_64, axis::columns>>;

// --- reductions

/// A join with a constant of its own: it tells how many values were joined.
template <class T> struct add_and_more {
  T more;
  TYLO_FN T operator()(T a, T b) const { return a + b + more; }
};
/// A join of the user's that the lanes of an emulated warp do in one meeting.
struct larger_magnitude {
  template <class T> static TYLO_FN T magnitude(T a) { return a < 0 ? -a : a; }
  template <class T> TYLO_FN T operator()(T a, T b) const {
    if (magnitude(a) == magnitude(b)) return a < b ? b : a;
    return magnitude(a) < magnitude(b) ? b : a;
  }
};

/// Sum, max, min, add_and_more{3} and larger_magnitude of each line; then elements with the reductions of their lines:
/// x - sum, sum - x, and where x is the largest the least one, else x + sum - sum.
template <class T, ownership O, axis Along, class Setup = usual_group<O>, bool AcrossWarps = false>
struct reduction_case : Setup {
  static constexpr ownership owned = O, result = tylo::reduced<O, Along>;
  static constexpr axis along = Along;
  static constexpr std::size_t outputs_each = O.threads() * (5 * result.slots() + 3 * O.slots());
  static constexpr std::size_t outputs = Setup::groups * outputs_each;
  static constexpr std::size_t scratch = AcrossWarps ? tylo::scratch_elements<O, Along> : 0;
  static constexpr std::size_t shared_bytes = Setup::groups * scratch * sizeof(T);
  using output = T;

  struct arguments {
    T const* tile;
    T* out;
  };

  template <class G, class Join> static TYLO_FN auto joined(G const& group, fragment<T, O> const& x, Join join) {
    if constexpr (AcrossWarps) {
      auto* const memory = reinterpret_cast<T*>(tylo::shared_memory()) + Setup::group_rank() * scratch;
      return tylo::reduce_across_warps<Along>(group, x, join, memory);
    } else {
      return tylo::reduce<Along>(group, x, join);
    }
  }
  template <class G> static TYLO_FN auto sums_of(G const& group, fragment<T, O> const& x) {
    if constexpr (AcrossWarps)
      return joined(group, x, tylo::add_values{});
    else
      return tylo::sum<Along>(group, x);
  }
  template <class G> static TYLO_FN auto most_of(G const& group, fragment<T, O> const& x) {
    if constexpr (AcrossWarps)
      return joined(group, x, tylo::larger_value{});
    else
      return tylo::max<Along>(group, x);
  }
  template <class G> static TYLO_FN auto least_of(G const& group, fragment<T, O> const& x) {
    if constexpr (AcrossWarps)
      return joined(group, x, tylo::smaller_value{});
    else
      return tylo::min<Along>(group, x);
  }

  static TYLO_FN void run(arguments const& g) {
    if (!Setup::takes_part()) return;
    auto const group = Setup::group();
    auto const rank = group.rank();
    auto const x = read_tile<O>(g.tile, rank);
    auto const sum = sums_of(group, x);
    auto const most = most_of(group, x), least = least_of(group, x);
    auto* next = g.out + Setup::group_rank() * outputs_each;
    next = write_slots(next, sum, rank);
    next = write_slots(next, most, rank);
    next = write_slots(next, least, rank);
    next = write_slots(next, joined(group, x, add_and_more<T>{3}), rank);
    next = write_slots(next, joined(group, x, larger_magnitude{}), rank);
    next = write_slots(next, x - sum, rank);
    next = write_slots(next, sum - x, rank);
    write_slots(next, select(most == x, least, x + (sum - sum)), rank);
  }
};

template <class T, ownership O> struct along_rows : reduction_case<T, O, axis::rows> {};
template <class T, ownership O> struct along_columns : reduction_case<T, O, axis::columns> {};
template <class T, ownership O, class Setup = usual_group<O>>
struct across_rows : reduction_case<T, O, axis::rows, Setup, true> {};
template <class T, ownership O, class Setup = usual_group<O>>
struct across_columns : reduction_case<T, O, axis::columns, Setup, true> {};

using warp_reductions = case_list<
    along_rows<float, shapes::one_each>, along_columns<float, shapes::one_each>, along_rows<float, shapes::local_rows>,
    along_columns<float, shapes::local_rows>, along_rows<float, shapes::local_columns>,
    along_columns<float, shapes::local_columns>, along_columns<float, shapes::striped_singles>,
    along_rows<float, shapes::striped_row>, along_columns<float, shapes::striped_row>,
    along_rows<float, shapes::striped_column>, along_rows<float, shapes::mma_a>, along_columns<float, shapes::mma_a>,
    along_rows<float, shapes::mma_b>, along_columns<float, shapes::mma_b>, along_rows<float, shapes::mma_c>,
    along_columns<float, shapes::mma_c>, along_rows<float, shapes::wide_c>, along_columns<float, shapes::wide_c>,
    along_rows<float, shapes::patches>, along_columns<float, shapes::patches>,
    along_columns<float, shapes::turned_patches>, along_rows<float, shapes::replicated_rows>,
    along_columns<float, shapes::replicated_rows>, along_rows<float, shapes::mixed_lanes>,
    along_columns<float, shapes::mixed_lanes>, along_columns<float, shapes::overlapping>,
    along_columns<float, shapes::many_rows>, along_rows<float, shapes::long_row>, along_columns<float, shapes::c_4x1>,
    along_columns<float, shapes::wgmma_64>, along_rows<float, shapes::c_1x4>, along_columns<float, shapes::c_3x1>,
    along_rows<float, shapes::equal_warps>, along_columns<float, shapes::equal_warps>,
    along_rows<float, tylo::reduced<shapes::mma_c, axis::columns>>,
    along_columns<float, tylo::reduced<shapes::patches, axis::rows>>,
    reduction_case<float, shapes::c_4x1, axis::columns, some_warps<4>>,
    reduction_case<float, shapes::equal_warps, axis::rows, halves_of_a_warpgroup>,
    reduction_case<float, shapes::c_4x1, axis::columns, two_ctas<128>>>;

using typed_reductions =
    case_list<along_rows<double, shapes::mma_c>, along_columns<double, shapes::mma_c>,
              along_columns<double, shapes::striped_row>, along_rows<double, shapes::mixed_lanes>,
              along_columns<double, shapes::local_rows>, along_rows<std::int32_t, shapes::mma_a>,
              along_columns<std::int32_t, shapes::mma_c>, along_columns<std::int32_t, shapes::striped_row>,
              along_rows<std::int32_t, shapes::patches>, along_rows<std::int64_t, shapes::mma_c>,
              along_columns<std::int64_t, shapes::replicated_rows>, along_columns<std::int64_t, shapes::striped_row>,
              along_columns<std::int64_t, shapes::wgmma_64>>;

using cta_reductions = case_list<
    across_rows<float, shapes::many_rows>, across_columns<float, shapes::long_row>, across_rows<float, shapes::c_4x1>,
    across_columns<float, shapes::c_4x1>, across_rows<float, shapes::wgmma_64>, across_rows<float, shapes::c_2x2>,
    across_columns<float, shapes::c_2x2>, across_columns<float, shapes::c_1x4>, across_rows<float, shapes::c_4x2>,
    across_columns<float, shapes::c_4x2>, across_rows<float, shapes::c_3x1>, across_columns<float, shapes::c_1x3>,
    across_columns<float, shapes::equal_warps>, across_columns<float, shapes::equal_pairs>,
    across_rows<float, shapes::pairs_of_equals>, across_columns<float, shapes::pairs_of_equals>,
    across_rows<float, tylo::reduced<shapes::wgmma_64, axis::columns>>, across_columns<double, shapes::c_1x4>,
    across_rows<std::int32_t, shapes::c_2x2>, across_columns<std::int64_t, shapes::long_row>,
    across_columns<float, shapes::c_1x4, some_warps<4>>, across_rows<float, shapes::c_3x1, some_warps<3>>,
    across_rows<std::int64_t, tiled(shapes::mma_c, {1, 2}, {2, 1}), halves_of_a_warpgroup>,
    across_columns<float, tiled(shapes::mma_c, {}, {1, 2}), halves_of_a_warpgroup>,
    across_columns<float, shapes::c_1x4, two_ctas<128>>, across_rows<float, shapes::c_2x2, two_ctas<128>>,
    across_columns<double, shapes::long_row, two_ctas<128>>, across_rows<std::int32_t, shapes::c_4x2, two_ctas<256>>>;

// --- online softmax

inline constexpr int softmax_pieces = 5;

/// Five tiles of scores, of which the first `widths[i]` along the axis count. Writes, for each tile, its weights and
/// the factor for earlier ones, and then what the state has in the end.
template <ownership O, axis Along> struct softmax_case : usual_group<O> {
  static constexpr ownership owned = O, result = tylo::reduced<O, Along>;
  static constexpr axis along = Along;
  static constexpr std::size_t weights = O.threads() * O.slots(), values = O.threads() * result.slots();
  static constexpr std::size_t outputs = softmax_pieces * (weights + values) + 4 * values, shared_bytes = 0;
  using output = float;

  struct arguments {
    float const* scores;
    int const* widths;
    float scale_log2;
    float* out;
  };
  using state = tylo::online_softmax<Along, O>;

  /// The scores of a tile; -inf behind its end.
  static TYLO_FN fragment<float, O> masked(arguments const& g, int piece, unsigned rank) {
    auto const* const tile = g.scores + piece * O.shape.row * O.shape.column;
    auto scores = read_tile<O>(tile, rank);
    TYLO_UNROLL for (int s = 0; s < scores.slots; ++s) {
      if (O(rank, static_cast<unsigned>(s)).along(Along) >= g.widths[piece]) scores.data[s] = minus_infinity;
    }
    return scores;
  }
  static TYLO_FN void write_state(float* to, state const& seen, float scale_log2, unsigned rank) {
    to = write_slots(to, seen.most, rank);
    to = write_slots(to, seen.sum, rank);
    to = write_slots(to, seen.normalizer(), rank);
    write_slots(to, seen.log_sum_exp(scale_log2), rank);
  }

  static TYLO_FN void run(arguments const& g) {
    auto const group = usual_group<O>::group();
    auto const rank = group.rank();
    auto seen = state::start();
    auto* next = g.out;
    for (int i = 0; i < softmax_pieces; ++i) {
      auto const [weights, rescale] = seen.update(group, masked(g, i, rank), g.scale_log2);
      next = write_slots(write_slots(next, weights, rank), rescale, rank);
    }
    write_state(next, seen, g.scale_log2, rank);
  }
};

/// Tiles go to two states by turns, which are merged with each other, and on the way with ones that saw nothing. Writes
/// the factors of the two, and what the state has in the end.
template <ownership O, axis Along> struct merge_case : softmax_case<O, Along> {
  using base = softmax_case<O, Along>;
  using typename base::arguments;
  static constexpr std::size_t outputs = 6 * base::values;

  static TYLO_FN void run(arguments const& g) {
    auto const group = usual_group<O>::group();
    auto const rank = group.rank();
    auto even = base::state::start(), odd = base::state::start(), nothing = base::state::start();
    for (int i = 0; i < softmax_pieces; ++i)
      (i % 2 == 0 ? even : odd).update(group, base::masked(g, i, rank), g.scale_log2);
    odd.merge(nothing, g.scale_log2);
    nothing.merge(odd, g.scale_log2);
    auto const [mine, theirs] = even.merge(nothing, g.scale_log2);
    base::write_state(write_slots(write_slots(g.out, mine, rank), theirs, rank), even, g.scale_log2, rank);
  }
};

using softmax_cases =
    case_list<softmax_case<shapes::local_rows, axis::columns>, softmax_case<shapes::local_rows, axis::rows>,
              softmax_case<shapes::striped_row, axis::columns>, softmax_case<shapes::striped_column, axis::rows>,
              softmax_case<shapes::mma_c, axis::columns>, softmax_case<shapes::mma_c, axis::rows>,
              softmax_case<shapes::patches, axis::columns>, softmax_case<shapes::turned_patches, axis::columns>,
              softmax_case<shapes::replicated_rows, axis::columns>, softmax_case<shapes::wgmma_64, axis::columns>,
              softmax_case<exchanged(shapes::wgmma_64), axis::rows>>;
using merge_cases = case_list<merge_case<shapes::local_rows, axis::columns>, merge_case<shapes::mma_c, axis::columns>,
                              merge_case<shapes::mma_c, axis::rows>, merge_case<shapes::c_4x1, axis::columns>>;

// --- worked kernels: softmax of lines that are there as a whole

struct shift_logit {
  TYLO_FN float operator()(float x, float most) const { return most == minus_infinity ? minus_infinity : x - most; }
};
struct exponential {
  TYLO_FN float operator()(float x) const { return tylo::exp2_approximate(x * tylo::log2_e); }
};
struct normalize_weight {
  TYLO_FN float operator()(float x, float sum) const { return sum == 0.0f ? 0.0f : x / sum; }
};

/// The shares of each row. Finite logits, -inf where masked; zeros where all of a row is.
template <class G, ownership O> TYLO_FN fragment<float, O> softmax_of_rows(G group, fragment<float, O> const& logits) {
  auto const most = tylo::max<axis::columns>(group, logits);
  auto const weights = map(exponential{}, map(shift_logit{}, logits, most));
  return map(normalize_weight{}, weights, tylo::sum<axis::columns>(group, weights));
}

/// A matrix of which rows are neighbours in memory, some masked elements in it.
struct matrix_arguments {
  float const* from;
  float* out;
  int rows, columns;
};

/// Each lane has a row. Neighbouring lanes read neighbours.
struct softmax_by_lanes : one_warp {
  static constexpr unsigned ctas = 3, threads = 64;
  static constexpr int most_columns = 24;
  static constexpr std::size_t outputs = 3 * 64 * most_columns, shared_bytes = 0;
  using output = float;
  using arguments = matrix_arguments;
  static constexpr auto owned = tylo::local<axis::columns>(most_columns);

  static TYLO_FN void run(arguments const& g) {
    auto const first = static_cast<int>((tylo::cta_rank() * threads + tylo::thread_rank()) / 32 * 32);
    int const row = first + static_cast<int>(tylo::lane_rank());
    fragment<float, owned> logits;
    TYLO_UNROLL for (int s = 0; s < logits.slots; ++s) logits.data[s] =
        row < g.rows && s < g.columns ? g.from[s * g.rows + row] : minus_infinity;
    auto const shares = softmax_of_rows(tylo::this_warp{}, logits);
    TYLO_UNROLL for (int s = 0; s < shares.slots; ++s) {
      if (row < g.rows && s < g.columns) g.out[s * g.rows + row] = shares.data[s];
    }
  }
};

/// Each warp has a row, 16 bytes of it a lane.
struct softmax_by_warps : one_warp {
  static constexpr unsigned ctas = 2, threads = 96;
  static constexpr int most_columns = 384;
  static constexpr std::size_t outputs = 6 * most_columns, shared_bytes = 0;
  using output = float;
  using arguments = matrix_arguments; // rows lie one behind the other
  static constexpr auto owned = tylo::striped<axis::columns>(3, 4);

  static TYLO_FN void run(arguments const& g) {
    auto const warp = static_cast<int>((tylo::cta_rank() * threads + tylo::thread_rank()) / 32);
    if (warp >= g.rows) return;
    fragment<float, owned> logits;
    TYLO_UNROLL for (int s = 0; s < logits.slots; ++s) {
      int const column = owned_at(s);
      logits.data[s] = column < g.columns ? g.from[warp * g.columns + column] : minus_infinity;
    }
    auto const shares = softmax_of_rows(tylo::this_warp{}, logits);
    TYLO_UNROLL for (int s = 0; s < shares.slots; ++s) {
      if (int const column = owned_at(s); column < g.columns) g.out[warp * g.columns + column] = shares.data[s];
    }
  }

private:
  static TYLO_FN int owned_at(int slot) { return place<owned>(static_cast<unsigned>(slot)).column; }
  template <ownership O> static TYLO_FN coordinate place(unsigned slot) { return O(tylo::lane_rank(), slot); }
};

/// What is done with the sums of a product by four warps: a scale, a bias for each column, and shares of each row.
struct softmax_epilogue : one_cta<128> {
  static constexpr auto owned = shapes::wgmma_64;
  static constexpr std::size_t outputs = 64 * 64, shared_bytes = 0;
  using output = float;

  struct arguments {
    float const* sums;
    float const* bias;
    float scale;
    float* out;
  };
  static TYLO_FN void run(arguments const& g) { epilogue<owned>(g); }

private:
  template <ownership O> static TYLO_FN void epilogue(arguments const& g) {
    auto const group = one_cta<128>::group();
    auto const rank = group.rank();
    auto const bias = read_tile<tylo::reduced<O, axis::rows>>(g.bias, rank); // one for each column
    auto const shares = softmax_of_rows(group, read_tile<O>(g.sums, rank) * g.scale + bias);
    TYLO_UNROLL for (int s = 0; s < shares.slots; ++s) {
      auto const at = O(rank, static_cast<unsigned>(s));
      g.out[at.row * O.shape.column + at.column] = shares.data[s];
    }
  }
};

using worked_cases = case_list<softmax_by_lanes, softmax_by_warps, softmax_epilogue>;

} // namespace mk::test
