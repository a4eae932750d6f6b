#include <megakernels/ops/rope/rope.hpp>
#include <megakernels/ops/rope/scaling.hpp>

#include <cmath>

namespace mk {
namespace {

bool is_positive(float value) { return std::isfinite(value) && value > 0; }

void expect_scaling(rope::arguments const& a, shape_query const& q) {
  q.expect_argument(a.scaling == rope::no_scaling || a.scaling == rope::llama3, "scaling", a.scaling,
                    "0 (none) or 1 (llama3)");
  if (a.scaling == rope::no_scaling) return;
  if (q.present(rope::divisors)) q.fail(rope::divisors, "is present together with scaling 1 (llama3)");
  q.expect_argument(is_positive(a.factor), "factor", a.factor, "a finite number over 0");
  q.expect_argument(is_positive(a.low_frequency_factor), "low_frequency_factor", a.low_frequency_factor,
                    "a finite number over 0");
  q.expect_argument(std::isfinite(a.high_frequency_factor) && a.high_frequency_factor > a.low_frequency_factor,
                    "high_frequency_factor", a.high_frequency_factor, "a finite number over low_frequency_factor");
  q.expect_argument(a.original_length > 0, "original_length", a.original_length, "1 or more");
}

} // namespace

std::vector<double> rope_frequencies(rope::arguments const& a) {
  std::vector<double> result(static_cast<std::size_t>(a.rotary_dim / 2));
  for (std::size_t i = 0; i < result.size(); ++i) {
    auto const frequency = std::pow(static_cast<double>(a.theta), -2.0 * static_cast<double>(i) / a.rotary_dim);
    result[i] = a.scaling == rope::llama3 ? scaled_as_llama3(a, frequency) : frequency;
  }
  return result;
}

std::vector<output_shape> rope::infer(arguments const& a, shape_query const& q) {
  q.expect_rank(x, 2);
  q.expect_floating(x);
  q.expect_argument(a.head_dim >= 1, "head_dim", a.head_dim, "1 or more");
  auto const& width = q.axis(x, 1);
  if (width.is_live() || width.capacity % a.head_dim != 0)
    q.fail(x, "axis 1 '" + q.axis_name(x, 1) + "' is " + (width.is_live() ? "live, up to " : "") +
                  std::to_string(width.capacity) + ", expected a fixed multiple of head_dim " +
                  std::to_string(a.head_dim));
  q.expect_argument(a.rotary_dim >= 0 && a.rotary_dim <= a.head_dim && a.rotary_dim % 2 == 0, "rotary_dim",
                    a.rotary_dim, "an even number from 0 to head_dim " + std::to_string(a.head_dim));
  q.expect_argument(a.pairing == halves || a.pairing == neighbours, "pairing", a.pairing,
                    "0 (halves) or 1 (neighbours)");
  q.expect_argument(is_positive(a.theta), "theta", a.theta, "a finite number over 0");
  expect_scaling(a, q);
  q.expect_rank(position, 1);
  q.expect_type(position, {data_type::int32});
  q.expect_same(position, 0, x, 0);
  if (q.present(divisors)) {
    q.expect_rank(divisors, 1);
    q.expect_type(divisors, {data_type::fp32});
    q.expect_extent(divisors, 0, {.capacity = a.rotary_dim / 2}, "one for each pair, half of rotary_dim");
  }
  q.expect_floating_argument(a.type, "type");
  return {q.make(a.type, {{x, 0}, {x, 1}})};
}

work_shape rope::work(arguments const& a, std::span<tensor_desc const> o) {
  return {.rows = o[x].extents[0], .columns = o[x].extents[1].capacity / a.head_dim};
}

void rope::regions(arguments const& a, std::span<tensor_desc const> o, task const& t, region_list& r) {
  auto const begin = t.column_begin * a.head_dim, end = t.column_end * a.head_dim;
  r.read(x).along(0, t.row_begin, t.row_end).along(1, begin, end);
  r.read(position).along(0, t.row_begin, t.row_end);
  if (o[divisors].rank >= 0) r.read(divisors);
  r.write(y).along(0, t.row_begin, t.row_end).along(1, begin, end);
}

cost rope::cost_of(arguments const& a, std::span<tensor_desc const> o, task const& t) {
  auto const elements = static_cast<double>(t.row_end - t.row_begin) *
                        static_cast<double>(t.column_end - t.column_begin) * static_cast<double>(a.head_dim);
  return {.bytes = elements * static_cast<double>(bytes_of(o[x].type) + bytes_of(o[y].type)),
          .operations = 3 * elements};
}

} // namespace mk
