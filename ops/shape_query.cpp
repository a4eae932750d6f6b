#include <megakernels/ops/error.hpp>
#include <megakernels/ops/operation.hpp>
#include <megakernels/ops/shape_query.hpp>

#include <algorithm>
#include <sstream>

namespace mk {
namespace {

std::string describe(extent const& e) {
  return e.is_live() ? "live, up to " + std::to_string(e.capacity) : std::to_string(e.capacity);
}

} // namespace

void shape_query::fail(std::string_view what) const {
  std::ostringstream text;
  text << "node '" << node_ << "' (" << operation_.name << "): " << what;
  throw graph_error(text.str());
}

void shape_query::fail(int slot, std::string_view what) const {
  std::ostringstream text;
  auto const at = static_cast<std::size_t>(slot);
  text << operation_.slots[at].name;
  if (!labels_[at].name.empty()) text << " (tensor '" << labels_[at].name << "')";
  text << ": " << what;
  fail(text.str());
}

void shape_query::expect_rank(int slot, int rank) const {
  if ((*this)[slot].rank == rank) return;
  fail(slot, "has " + std::to_string((*this)[slot].rank) + " axes, expected " + std::to_string(rank));
}

void shape_query::expect_type(int slot, std::initializer_list<data_type> allowed) const {
  std::string list;
  for (auto type : allowed) {
    if ((*this)[slot].type == type) return;
    list += (list.empty() ? "" : ", ") + std::string(name_of(type));
  }
  fail(slot, "has data type " + std::string(name_of((*this)[slot].type)) + ", expected " + list);
}

void shape_query::expect_floating(int slot) const {
  if (is_floating((*this)[slot].type)) return;
  fail(slot, "has data type " + std::string(name_of((*this)[slot].type)) + ", expected a floating-point type");
}

void shape_query::expect_floating_argument(data_type type, std::string_view argument) const {
  expect_argument(is_known(type) && is_floating(type), argument, static_cast<double>(type),
                  "the number of a floating-point data type");
}

void shape_query::expect_extent(int slot, int axis, extent const& expected, std::string_view why) const {
  auto const& found = this->axis(slot, axis);
  if (found == expected) return;
  std::ostringstream text;
  text << "axis " << axis << " '" << axis_name(slot, axis) << "' is " << describe(found) << ", expected "
       << describe(expected) << " (" << why << ")";
  fail(slot, text.str());
}

void shape_query::expect_same(int slot, int axis, int other_slot, int other_axis) const {
  auto const why = "as axis '" + axis_name(other_slot, other_axis) + "' of " +
                   std::string(operation_.slots[static_cast<std::size_t>(other_slot)].name);
  expect_extent(slot, axis, this->axis(other_slot, other_axis), why);
}

void shape_query::expect_contiguous(int slot) const {
  auto const& desc = (*this)[slot];
  auto const last = static_cast<std::size_t>(desc.rank - 1);
  if (desc.rank == 0 || desc.strides[last] == 1 || desc.extents[last].capacity <= 1) return;
  fail(slot, "innermost stride is " + std::to_string(desc.strides[last]) + " elements, expected 1");
}

void shape_query::expect_argument(bool ok, std::string_view argument, double value,
                                  std::string_view requirement) const {
  if (ok) return;
  std::ostringstream text;
  text << "argument " << argument << " is " << value << ", expected " << requirement;
  fail(text.str());
}

output_shape shape_query::make(data_type type, std::initializer_list<axis_ref> axes) const {
  output_shape result{
      .desc = {.type = type, .rank = static_cast<std::int32_t>(axes.size()), .extents = {}, .strides = {}}, .axes = {}};
  std::size_t at = 0;
  std::int64_t bytes = bytes_of(type);
  for (auto const& ref : axes) {
    auto const& length = axis(ref.slot, ref.axis);
    // Also an axis of length 0 must not hide that the others are absurd: strides are products of them.
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(length.capacity, 1), &bytes))
      fail("the output has 2^63 bytes or more (axis '" + axis_name(ref.slot, ref.axis) + "' is " +
           std::to_string(length.capacity) + ")");
    result.desc.extents[at] = length;
    result.axes[at++] = axis_name(ref.slot, ref.axis);
  }
  set_dense_strides(result.desc);
  return result;
}

} // namespace mk
