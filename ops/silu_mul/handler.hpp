#pragma once

/// The device side of `silu_mul`: threads take neighbouring elements.

#include <megakernels/ops/device/activation.hpp>
#include <megakernels/ops/device/elementwise.hpp>
#include <megakernels/ops/handler.hpp>
#include <megakernels/ops/silu_mul/silu_mul.hpp>

namespace mk {

template <> struct handler<silu_mul> {
  template <class Context> static TYLO_FN void compute(Context& context, silu_mul::arguments const&, task const& t) {
    handlers::elementwise(context, t, silu_mul::gate, silu_mul::up, silu_mul::y,
                          [](float gate, float up) { return handlers::silu(gate) * up; });
  }
};

} // namespace mk
