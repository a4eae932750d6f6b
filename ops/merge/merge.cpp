#include <megakernels/ops/merge/merge.hpp>
#include <megakernels/ops/reference/rows.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mk {
namespace {

template <class Accumulate> constexpr Accumulate infinity = std::numeric_limits<Accumulate>::infinity();

/// The largest finite log-sum-exp, -infinity where all parts are empty, NaN where one is NaN or +infinity.
template <class Accumulate> Accumulate largest_of(std::span<Accumulate const> lse) {
  Accumulate result = -infinity<Accumulate>;
  for (auto value : lse) {
    if (!(value < infinity<Accumulate>)) return std::numeric_limits<Accumulate>::quiet_NaN();
    result = std::max(result, value);
  }
  return result;
}

} // namespace

static_assert(std::has_unique_object_representations_v<merge::arguments>);

std::vector<output_shape> merge::infer(arguments const& a, shape_query const& q) {
  q.expect_rank(o, 3);
  q.expect_type(o, {data_type::fp32, data_type::bf16, data_type::fp16});
  q.expect_argument(a.heads >= 1, "heads", a.heads, "1 or more");
  q.expect_floating_argument(a.type, "type");
  auto const& width = q.axis(o, 2);
  q.expect_extent(o, 0, {.capacity = q.axis(o, 0).capacity}, "fixed");
  q.expect_extent(o, 2, {.capacity = width.capacity}, "fixed");
  if (width.capacity % a.heads != 0)
    q.fail(o, "axis 2 '" + q.axis_name(o, 2) + "' is " + std::to_string(width.capacity) + ", expected a multiple of " +
                  std::to_string(a.heads) + " (argument heads)");
  q.expect_rank(lse, 3);
  q.expect_type(lse, {data_type::fp32});
  q.expect_same(lse, 0, o, 0);
  q.expect_same(lse, 1, o, 1);
  q.expect_extent(lse, 2, {.capacity = a.heads}, "argument heads");
  std::vector<output_shape> result{q.make(a.type, {{o, 1}, {o, 2}})};
  if (q.wanted(merged_lse)) result.push_back(q.make(data_type::fp32, {{lse, 1}, {lse, 2}}));
  return result;
}

work_shape merge::work(arguments const& a, std::span<tensor_desc const> operands) {
  return {.rows = operands[o].extents[1], .columns = a.heads};
}

void merge::regions(arguments const& a, std::span<tensor_desc const> operands, task const& t, region_list& r) {
  auto const head_dim = operands[o].extents[2].capacity / a.heads;
  auto const first = t.column_begin * head_dim;
  auto const last = t.column_end * head_dim;
  r.read(o).along(1, t.row_begin, t.row_end).along(2, first, last);
  r.read(lse).along(1, t.row_begin, t.row_end).along(2, t.column_begin, t.column_end);
  r.write(y).along(0, t.row_begin, t.row_end).along(1, first, last);
  if (operands[merged_lse].rank >= 0)
    r.write(merged_lse).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
}

cost merge::cost_of(arguments const& a, std::span<tensor_desc const> operands, task const& t) {
  auto const splits = static_cast<double>(operands[o].extents[0].capacity);
  auto const elements = static_cast<double>(t.row_end - t.row_begin) *
                        static_cast<double>(t.column_end - t.column_begin) *
                        static_cast<double>(operands[o].extents[2].capacity / a.heads);
  return {.bytes = elements * (splits * static_cast<double>(bytes_of(operands[o].type)) +
                               static_cast<double>(bytes_of(operands[y].type))),
          .operations = 2 * splits * elements};
}

template <class Accumulate>
void merge::reference(arguments const& a, std::span<tensor_view const> operands, task const& t) {
  auto const splits = operands[o].extent(0);
  auto const head_dim = operands[o].extent(2) / a.heads;
  auto const states = reference::scratch<Accumulate>(splits);
  auto const part = reference::scratch<Accumulate, 1>(head_dim);
  auto const sum = reference::scratch<Accumulate, 2>(head_dim);

  for (auto row = t.row_begin; row < t.row_end; ++row)
    for (auto head = t.column_begin; head < t.column_end; ++head) {
      reference::load_row<Accumulate>(data_type::fp32, operands[lse].at(0, row, head), operands[lse].stride(0), states);
      auto const largest = largest_of<Accumulate>(states);
      bool const empty = largest == -infinity<Accumulate>;
      Accumulate total = 0;
      std::fill(sum.begin(), sum.end(), Accumulate(0));
      for (std::int64_t s = 0; s < splits; ++s) {
        auto const state = states[static_cast<std::size_t>(s)];
        if (state == -infinity<Accumulate>) continue;
        auto const weight = std::exp(state - largest);
        total += weight;
        auto const* from = operands[o].at(s, row, head * head_dim);
        reference::load_row<Accumulate>(operands[o].type, from, operands[o].stride(2), part);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * part[i];
      }
      if (!empty)
        for (auto& value : sum) value /= total;
      reference::store_row<Accumulate>(operands[y].type, operands[y].at(row, head * head_dim), operands[y].stride(1),
                                       sum);
      if (!operands[merged_lse].present()) continue;
      Accumulate const merged = empty ? largest : largest + std::log(total);
      reference::store_row<Accumulate>(data_type::fp32, operands[merged_lse].at(row, head), 1, std::span(&merged, 1));
    }
}

template void merge::reference<float>(arguments const&, std::span<tensor_view const>, task const&);
template void merge::reference<double>(arguments const&, std::span<tensor_view const>, task const&);

} // namespace mk
