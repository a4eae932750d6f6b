#pragma once

/// The device side of `add`: threads take neighbouring elements.

#include <megakernels/ops/add/add.hpp>
#include <megakernels/ops/device/elementwise.hpp>
#include <megakernels/ops/handler.hpp>

namespace mk {

template <> struct handler<add> {
  template <class Context> static TYLO_FN void compute(Context& context, add::arguments const&, task const& t) {
    handlers::elementwise(context, t, add::a, add::b, add::y, [](float a, float b) { return a + b; });
  }
};

} // namespace mk
