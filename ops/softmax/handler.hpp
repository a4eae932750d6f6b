#pragma once

/// The device side of `softmax`: all threads share a row and go over it three times.

#include <megakernels/ops/device/element.hpp>
#include <megakernels/ops/device/reduce.hpp>
#include <megakernels/ops/device/rolled.hpp>
#include <megakernels/ops/handler.hpp>
#include <megakernels/ops/softmax/softmax.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mk {

template <> struct handler<softmax> {
  template <class Context> static TYLO_FN void compute(Context& context, softmax::arguments const& a, task const& t) {
    auto const& x = context.operand(softmax::x);
    auto const& y = context.operand(softmax::y);
    auto const width = x.extent(1);
    auto* const slots = context.template scratch<float>();
    for (auto row = t.row_begin; row < t.row_end; ++row) {
      auto const number = [&](std::int64_t i) {
        auto const v = handlers::load(x.type, x.at(row, i));
        return a.scale < 0 ? -v : v;
      };
      float most = -infinity;
      MK_ROLLED for (std::int64_t i = context.thread(); i < width; i += Context::threads) {
        most = handlers::larger{}(most, ranked(number(i), a.scale));
      }
      most = handlers::team_max(context, most, slots);

      float sum = 0;
      MK_ROLLED for (std::int64_t i = context.thread(); i < width; i += Context::threads) {
        sum += term(number(i), most, a.scale);
      }
      sum = handlers::team_sum(context, sum, slots);
      MK_ROLLED for (std::int64_t i = context.thread(); i < width; i += Context::threads) {
        auto const share = term(number(i), most, a.scale) / sum;
        handlers::store(y.type, y.at(row, i),
                        most == infinity    ? std::numeric_limits<float>::quiet_NaN()
                        : most == -infinity ? 0.0f
                                            : share);
      }
    }
  }

private:
  static constexpr float infinity = std::numeric_limits<float>::infinity();

  /// The number, or infinity where its row has no result: one maximum then answers both questions.
  static TYLO_FN float ranked(float v, float scale) {
    bool const refused = v != v || v == infinity || (scale == 0 && v == -infinity);
    return refused ? infinity : v;
  }

  /// exp(scale * v - scale * most) without overflow on the way, as in the reference.
  static TYLO_FN float term(float v, float most, float scale) {
    auto const steepness = std::min(2.0f * std::abs(scale), std::numeric_limits<float>::max());
    return std::exp(steepness * (v / 2 - most / 2));
  }
};

} // namespace mk
