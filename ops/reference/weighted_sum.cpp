#include <megakernels/ops/reference/lanes.hpp>
#include <megakernels/ops/reference/rows.hpp>
#include <megakernels/ops/reference/weighted_sum.hpp>

namespace mk::reference {
namespace {

/// Parts x N elements of one row, which stay in registers.
template <class A, int N, int Parts>
MK_INLINE void run_of_elements(weighted_sum<A> const& w, std::int64_t row, std::int64_t from) {
  A const* const weight = w.weight + row * w.weight_stride;
  A* const to = w.sum + row * w.width + from;
  lanes<A, N> sum[Parts];
  MK_UNROLL for (int p = 0; p < Parts; ++p) load(to + p * N, sum[p]);
  for (std::int64_t j = 0; j < w.count; ++j) {
    A const factor = weight[j];
    MK_UNROLL for (int p = 0; p < Parts; ++p) {
      lanes<A, N> v;
      load(w.value + j * w.width + from + p * N, v);
      sum[p] += factor * v;
    }
  }
  MK_UNROLL for (int p = 0; p < Parts; ++p) store(sum[p], to + p * N);
}

template <class A, int N, int Parts> MK_INLINE void all_rows(weighted_sum<A> const& w) {
  static_assert(partial_sums % (N * Parts) == 0 || N * Parts == 2 * partial_sums);
  for (std::int64_t row = 0; row < w.rows; ++row) {
    std::int64_t from = 0;
    for (; from + N * Parts <= w.width; from += N * Parts) run_of_elements<A, N, Parts>(w, row, from);
    if constexpr (N * Parts > partial_sums)
      for (; from < w.width; from += partial_sums) run_of_elements<A, N, partial_sums / N>(w, row, from);
  }
}

#if MK_MACHINES
MK_TARGET_AVX2 void rows_avx2(weighted_sum<float> const& w) { all_rows<float, 8, 8>(w); }
MK_TARGET_AVX512 void rows_avx512(weighted_sum<float> const& w) { all_rows<float, 16, 4>(w); }
#endif
void rows_baseline(weighted_sum<float> const& w) { all_rows<float, 4, 8>(w); }

} // namespace

void run(weighted_sum<float> const& w, [[maybe_unused]] machine m) {
#if MK_MACHINES
  if (m == machine::avx512) return rows_avx512(w);
  if (m == machine::avx2) return rows_avx2(w);
#endif
  rows_baseline(w);
}

void run(weighted_sum<double> const& w) { all_rows<double, 2, 8>(w); }

} // namespace mk::reference
