#pragma once

/// Operations of the form y[t, i] = f(a[t, i], b[t, i]) on the device.

#include <megakernels/ops/device/element.hpp>
#include <megakernels/ops/device/walk.hpp>
#include <megakernels/ops/operation.hpp>

namespace mk::handlers {

template <class Context, class F> TYLO_FN void elementwise(Context& context, task const& t, int a, int b, int y, F f) {
  auto const& left = context.operand(a);
  auto const& right = context.operand(b);
  auto const& out = context.operand(y);
  walk(as_thread(context), t.row_begin, t.row_end, t.column_begin, std::min(t.column_end, out.extent(1)),
       [&](std::int64_t row, std::int64_t column) {
         store(out.type, out.at(row, column),
               f(load(left.type, left.at(row, column)), load(right.type, right.at(row, column))));
       });
}

} // namespace mk::handlers
