#include <megakernels/ops/reference/dot.hpp>
#include <megakernels/ops/reference/lanes.hpp>

#include <algorithm>

namespace mk::reference {
namespace {

/// Joins the partial sums of four columns: halves onto each other, as `join` does, the last two steps across columns.
template <class A> MK_INLINE void join_columns(A const (&partial)[dot_columns][partial_sums], A* out) {
  lanes<A, 4> quarter[dot_columns];
  MK_UNROLL for (int c = 0; c < dot_columns; ++c) {
    lanes<A, 16> low, high;
    load(partial[c], low);
    load(partial[c] + 16, high);
    low += high;
    A sixteen[16];
    store(low, sixteen);
    lanes<A, 8> low8, high8;
    load(sixteen, low8);
    load(sixteen + 8, high8);
    low8 += high8;
    A eight[8];
    store(low8, eight);
    lanes<A, 4> high4;
    load(eight, quarter[c]);
    load(eight + 4, high4);
    quarter[c] += high4;
  }
  // Rows of the transposed 4 x 4: element i of every column.
  auto const a = __builtin_shufflevector(quarter[0], quarter[1], 0, 4, 1, 5);
  auto const b = __builtin_shufflevector(quarter[2], quarter[3], 0, 4, 1, 5);
  auto const c = __builtin_shufflevector(quarter[0], quarter[1], 2, 6, 3, 7);
  auto const d = __builtin_shufflevector(quarter[2], quarter[3], 2, 6, 3, 7);
  auto const zero_one = a + c; // columns 0 and 1: element 0 plus 2 twice, then 1 plus 3 twice
  auto const two_three = b + d;
  lanes<A, 4> const sums = __builtin_shufflevector(zero_one, two_three, 0, 1, 4, 5) +
                           __builtin_shufflevector(zero_one, two_three, 2, 3, 6, 7);
  store(sums, out);
}

/// Rows x 4 sums, N of the partial sums at a time: as many accumulators as there are registers.
template <class A, int N, int Rows> MK_INLINE void block_of_rows(dot_block<A> const& b, std::int64_t row) {
  A const* const x = b.x + row * b.inner;
  A partial[Rows][dot_columns][partial_sums];
  for (int p = 0; p < partial_sums; p += N) {
    lanes<A, N> sum[Rows][dot_columns] = {};
    for (std::int64_t k = p; k < b.inner; k += partial_sums) {
      lanes<A, N> w[dot_columns];
      MK_UNROLL for (int c = 0; c < dot_columns; ++c) load(b.weight + c * b.inner + k, w[c]);
      MK_UNROLL for (int r = 0; r < Rows; ++r) {
        lanes<A, N> v;
        load(x + r * b.inner + k, v);
        MK_UNROLL for (int c = 0; c < dot_columns; ++c) sum[r][c] += v * w[c];
      }
    }
    MK_UNROLL for (int r = 0; r < Rows; ++r) {
      MK_UNROLL for (int c = 0; c < dot_columns; ++c) store(sum[r][c], partial[r][c] + p);
    }
  }
  for (int r = 0; r < Rows; ++r) join_columns(partial[r], b.out + (row + r) * b.out_stride);
}

template <class A, int N, int Rows> MK_INLINE void block(dot_block<A> const& b) {
  std::int64_t row = 0;
  for (; row + Rows <= b.rows; row += Rows) block_of_rows<A, N, Rows>(b, row);
  constexpr int fewer = Rows / 2;
  for (; row + fewer <= b.rows; row += fewer) block_of_rows<A, N, fewer>(b, row);
  for (; row < b.rows; ++row) block_of_rows<A, N, 1>(b, row);
}

/// Columns (1 to 4) of a weight of element type T against one row.
template <class T, machine M, int N, int Columns>
MK_INLINE void stream_columns(dot_stream const& s, std::int64_t column) {
  constexpr int parts = static_cast<int>(partial_sums) / N;
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  std::byte const* const weight = s.weight + column * s.row_bytes;
  lanes<float, N> sum[Columns][parts] = {};
  auto const whole = s.inner / partial_sums * partial_sums;
  for (std::int64_t k = 0; k < whole; k += partial_sums) {
    // The next columns: rows are too short for the machine to foresee them.
    MK_UNROLL for (int c = 0; c < Columns; ++c) __builtin_prefetch(weight + (c + Columns) * s.row_bytes + k * size);
    MK_UNROLL for (int p = 0; p < parts; ++p) {
      lanes<float, N> v, w;
      load(s.x + k + p * N, v);
      MK_UNROLL for (int c = 0; c < Columns; ++c) {
        widen<T, M, N>(weight + c * s.row_bytes + (k + p * N) * size, w);
        sum[c][p] += v * w;
      }
    }
  }
  if (whole < s.inner) {
    std::byte tail[Columns][partial_sums * size] = {};
    MK_UNROLL for (int c = 0; c < Columns; ++c) {
      std::memcpy(tail[c], weight + c * s.row_bytes + whole * size, static_cast<std::size_t>((s.inner - whole) * size));
      MK_UNROLL for (int p = 0; p < parts; ++p) {
        lanes<float, N> v, w;
        load(s.x + whole + p * N, v);
        widen<T, M, N>(tail[c] + p * N * size, w);
        sum[c][p] += v * w;
      }
    }
  }
  float partial[dot_columns][partial_sums] = {};
  MK_UNROLL for (int c = 0; c < Columns; ++c) {
    MK_UNROLL for (int p = 0; p < parts; ++p) store(sum[c][p], partial[c] + p * N);
  }
  float joined[dot_columns];
  join_columns(partial, joined);
  std::copy_n(joined, Columns, s.out + column);
}

template <class T, machine M, int N, int Columns> MK_INLINE void stream(dot_stream const& s) {
  std::int64_t column = 0;
  for (; column + Columns <= s.columns; column += Columns) stream_columns<T, M, N, Columns>(s, column);
  for (; column < s.columns; ++column) stream_columns<T, M, N, 1>(s, column);
}

template <machine M, int N, int Columns> MK_INLINE void stream_any(dot_stream const& s) {
  switch (s.type) {
  case data_type::bf16:
    return stream<tylo::bf16, M, N, Columns>(s);
  case data_type::fp16:
    return stream<tylo::fp16, M, N, Columns>(s);
  case data_type::e4m3:
    return stream<tylo::e4m3, M, N, Columns>(s);
  case data_type::e5m2:
    return stream<tylo::e5m2, M, N, Columns>(s);
  case data_type::int8:
    return stream<std::int8_t, M, N, Columns>(s);
  default:
    return stream<float, M, N, Columns>(s);
  }
}

// Vector widths and blocks by the registers of each level: 16 of 16 or 32 bytes, 32 of 64 bytes.
#if MK_MACHINES
MK_TARGET_AVX2 void block_avx2(dot_block<float> const& b) { block<float, 8, 3>(b); }
MK_TARGET_AVX512 void block_avx512(dot_block<float> const& b) { block<float, 16, 6>(b); }
MK_TARGET_AVX2 void stream_avx2(dot_stream const& s) { stream_any<machine::avx2, 8, 2>(s); }
MK_TARGET_AVX512 void stream_avx512(dot_stream const& s) { stream_any<machine::avx512, 16, 4>(s); }
#endif
void block_baseline(dot_block<float> const& b) { block<float, 4, 3>(b); }
void stream_baseline(dot_stream const& s) { stream_any<machine::baseline, 4, 1>(s); }

} // namespace

void run(dot_block<float> const& b, [[maybe_unused]] machine m) {
#if MK_MACHINES
  if (m == machine::avx512) return block_avx512(b);
  if (m == machine::avx2) return block_avx2(b);
#endif
  block_baseline(b);
}

void run(dot_block<double> const& b) { block<double, 2, 3>(b); }

void run(dot_stream const& s, [[maybe_unused]] machine m) {
#if MK_MACHINES
  if (m == machine::avx512) return stream_avx512(s);
  if (m == machine::avx2) return stream_avx2(s);
#endif
  stream_baseline(s);
}

} // namespace mk::reference
