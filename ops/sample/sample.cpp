#include <megakernels/ops/error.hpp>
#include <megakernels/ops/reference/rows.hpp>
#include <megakernels/ops/sample/distribution.hpp>
#include <megakernels/ops/sample/random.hpp>
#include <megakernels/ops/sample/sample.hpp>

#include <string>

namespace mk {
namespace {

template <class T> T element(tensor_view const& table, std::int64_t row) {
  T value;
  std::memcpy(&value, table.at(row), sizeof value);
  return value;
}

std::int32_t draw(std::span<tensor_view const> o, std::int64_t row, std::span<float const> logits) {
  auto const temperature = element<float>(o[sample::temperature], row);
  auto const top_p = element<float>(o[sample::top_p], row);
  if (!(temperature >= 0) || !(top_p == top_p)) return sample::no_token;
  auto const extremes = sampling::extremes_of(logits);
  if (extremes.first_largest < 0) return sample::no_token;
  if (temperature == 0) return extremes.first_largest;
  sampling::rule const rule{.temperature = static_cast<double>(temperature),
                            .top_k = element<std::int32_t>(o[sample::top_k], row),
                            .top_p = static_cast<double>(top_p)};
  auto const u =
      sampling::uniform(element<std::int32_t>(o[sample::seed], row), element<std::int32_t>(o[sample::counter], row));
  return sampling::pick(sampling::kept_set(logits, extremes, rule, u), u);
}

} // namespace

std::vector<output_shape> sample::infer(arguments const& a, shape_query const& q) {
  q.expect_argument(a.reserved == 0, "reserved", a.reserved, "0");
  q.expect_rank(logits, 2);
  q.expect_floating(logits);
  auto const& vocabulary = q.axis(logits, 1);
  q.expect_extent(logits, 1, {.capacity = vocabulary.capacity}, "fixed");
  if (vocabulary.capacity > std::int64_t{1} << 31)
    q.fail(logits, "axis 1 '" + q.axis_name(logits, 1) + "' is " + std::to_string(vocabulary.capacity) +
                       ", expected at most 2^31: tokens are int32");
  for (int table : {temperature, top_p, top_k, seed, counter}) {
    q.expect_rank(table, 1);
    q.expect_type(table, {table == temperature || table == top_p ? data_type::fp32 : data_type::int32});
    q.expect_same(table, 0, logits, 0);
  }
  return {q.make(data_type::int32, {{logits, 0}})};
}

work_shape sample::work(arguments const&, std::span<tensor_desc const> o) { return {.rows = o[logits].extents[0]}; }

void sample::regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
  for (int from : {logits, temperature, top_k, top_p, seed, counter}) r.read(from).along(0, t.row_begin, t.row_end);
  r.write(token).along(0, t.row_begin, t.row_end);
}

cost sample::cost_of(arguments const&, std::span<tensor_desc const> o, task const& t) {
  auto const elements =
      static_cast<double>(t.row_end - t.row_begin) * static_cast<double>(o[logits].extents[1].capacity);
  return {.bytes = elements * static_cast<double>(bytes_of(o[logits].type)), .operations = 4 * elements};
}

template <class Accumulate> void sample::reference(arguments const&, std::span<tensor_view const> o, task const& t) {
  auto const row = reference::scratch<float, 1>(o[logits].extent(1));
  for (auto r = t.row_begin; r < t.row_end; ++r) {
    reference::load_row<float>(o[logits].type, o[logits].at(r), o[logits].stride(1), row);
    auto const drawn = draw(o, r, row);
    std::memcpy(o[token].at(r), &drawn, sizeof drawn);
  }
}

void sample::check(arguments const&, std::span<tensor_view const> o) {
  auto const refuse = [&](int slot, auto refused, std::string_view expected) {
    if (o[static_cast<std::size_t>(slot)].data == nullptr) return;
    for (std::int64_t row = 0; row < o[static_cast<std::size_t>(slot)].extent(0); ++row) {
      auto const value = element<float>(o[static_cast<std::size_t>(slot)], row);
      if (refused(value))
        throw submit_error("sample: " + std::string(slots[static_cast<std::size_t>(slot)].name) + " of row " +
                           std::to_string(row) + " is " + std::to_string(value) + ", expected " +
                           std::string(expected));
    }
  };
  refuse(temperature, [](float value) { return !(value >= 0); }, "0 (arg-max) or more");
  refuse(top_p, [](float value) { return !(value == value); }, "a number");
}

template void sample::reference<float>(arguments const&, std::span<tensor_view const>, task const&);
template void sample::reference<double>(arguments const&, std::span<tensor_view const>, task const&);

} // namespace mk
