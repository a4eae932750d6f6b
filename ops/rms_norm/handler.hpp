#pragma once

/// The device side of `rms_norm`: all threads share a row.

#include <megakernels/ops/device/element.hpp>
#include <megakernels/ops/device/reduce.hpp>
#include <megakernels/ops/device/rolled.hpp>
#include <megakernels/ops/handler.hpp>
#include <megakernels/ops/rms_norm/rms_norm.hpp>

#include <cmath>

namespace mk {

template <> struct handler<rms_norm> {
  template <class Context> static TYLO_FN void compute(Context& context, rms_norm::arguments const& a, task const& t) {
    auto const& x = context.operand(rms_norm::x);
    auto const& weight = context.operand(rms_norm::weight);
    auto const& y = context.operand(rms_norm::y);
    auto const width = x.extent(1);
    for (auto row = t.row_begin; row < t.row_end; ++row) {
      float squares = 0;
      MK_ROLLED for (std::int64_t i = context.thread(); i < width; i += Context::threads) {
        auto const value = handlers::load(x.type, x.at(row, i));
        squares = std::fma(value, value, squares);
      }
      squares = handlers::team_sum(context, squares, context.template scratch<float>());
      auto const scale = 1.0f / std::sqrt(squares / static_cast<float>(width) + a.epsilon);
      MK_ROLLED for (std::int64_t i = context.thread(); i < width; i += Context::threads) {
        auto const gain = weight.present() ? handlers::load(weight.type, weight.at(i)) : 1.0f;
        handlers::store(y.type, y.at(row, i), handlers::load(x.type, x.at(row, i)) * scale * gain);
      }
    }
  }
};

} // namespace mk
