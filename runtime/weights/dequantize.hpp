#pragma once

/// Quantised elements as fp32, bit for bit the values that ggml computes for every scale that is not NaN.
/// Types read: F32, F16, BF16, Q4_0, Q4_1, Q8_0, Q6_K. Each formula is evaluated in fp32 from left to right:
///   Q4_0, Q8_0: d * q     Q4_1: d * q + m     Q6_K: d * scale * q

#include <megakernels/runtime/weights/gguf_parse.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mk {

/// Writes the elements that `bytes` stores to `out`.
/// Throws `error` where `type` is not read, or `bytes` is not exactly the whole blocks of `out.size()` elements.
void dequantize(ggml_type type, std::span<std::byte const> bytes, std::span<float> out);

/// Writes rows [first, first + count) of `tensor` to `out`, count * tensor.row_elements() elements.
/// Throws `error` where the type is not read, the rows leave the tensor, or `out` has another size.
void dequantize_rows(gguf_tensor const& tensor, std::uint64_t first, std::uint64_t count, std::span<float> out);

/// Calls `visit(std::uint64_t first_row, std::span<float const> elements)` for runs of whole rows, in order, all rows
/// of `tensor` once. Holds about `run_elements` fp32 values at a time, or one row where that is more, so that a large
/// tensor can be converted to another type without a copy in fp32. Throws as `dequantize_rows` does.
template <typename Visitor>
void for_each_row_run(gguf_tensor const& tensor, Visitor&& visit, std::uint64_t run_elements = 65536) {
  auto const row_elements = tensor.row_elements();
  auto const row_count = tensor.row_count();
  if (row_count == 0) return;
  auto const run_rows = std::clamp<std::uint64_t>(run_elements / row_elements, 1, row_count);
  std::vector<float> elements(run_rows * row_elements);
  for (std::uint64_t first = 0; first < row_count; first += run_rows) {
    auto const rows = std::min(run_rows, row_count - first);
    std::span<float> const run(elements.data(), rows * row_elements);
    dequantize_rows(tensor, first, rows, run);
    visit(first, std::span<float const>(run));
  }
}

} // namespace mk
