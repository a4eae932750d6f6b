#pragma once

/// The device side of `rope`: the frequencies of a task are made once, in scratch; then a warp takes a head of a row at
/// a time. Angles are in double, whose products stay accurate at any position.

#include <megakernels/ops/device/angle.hpp>
#include <megakernels/ops/device/element.hpp>
#include <megakernels/ops/device/rolled.hpp>
#include <megakernels/ops/device/walk.hpp>
#include <megakernels/ops/handler.hpp>
#include <megakernels/ops/rope/rope.hpp>
#include <megakernels/ops/rope/scaling.hpp>
#include <megakernels/tylo/lane/thread.hpp>

#include <cmath>

namespace mk {

template <> struct handler<rope> {
  template <class Context> static TYLO_FN void compute(Context& context, rope::arguments const& a, task const& t) {
    auto const pairs = a.rotary_dim / 2;
    auto* const frequencies = context.template scratch<double>();
    std::int32_t first = 0;
    do { // once more for each `table_pairs` pairs
      auto const left = pairs - first;
      auto const count = left < table_pairs ? left : table_pairs;
      MK_ROLLED for (auto i = static_cast<std::int32_t>(context.thread()); i < count; i += Context::threads)
          frequencies[i] = frequency(a, context.operand(rope::divisors), first + i);
      context.sync();
      handlers::walk(handlers::as_warp(context), t.row_begin, t.row_end, t.column_begin, t.column_end,
                     [&](std::int64_t row, std::int64_t head) {
                       turn(context, a, row, head * a.head_dim, frequencies, first, count);
                     });
      context.sync();
      first += table_pairs;
    } while (first < pairs);
  }

private:
  static constexpr std::int32_t table_pairs = 512;

  static TYLO_FN double frequency(rope::arguments const& a, tensor_view const& divisors, std::int32_t pair) {
    // theta^(-2 pair / rotary_dim). `pow` would be a call, which spoils register reallocation.
    auto value = std::exp(-2.0 * pair / a.rotary_dim * std::log(static_cast<double>(a.theta)));
    if (a.scaling == rope::llama3) value = scaled_as_llama3(a, value);
    if (divisors.present()) value /= static_cast<double>(handlers::load_as<float>(divisors.at(pair)));
    return value;
  }

  /// One head of one row, elements from `begin` on: those whose pair is in the table, and at first those that have
  /// none. Each lane makes whole elements, reading their partners too.
  template <class Context>
  static TYLO_FN void turn(Context const& context, rope::arguments const& a, std::int64_t row, std::int64_t begin,
                           double const* frequencies, std::int32_t first, std::int32_t count) {
    auto const& x = context.operand(rope::x);
    auto const& y = context.operand(rope::y);
    auto const position = static_cast<double>(handlers::load_index(context.operand(rope::position).at(row)));
    auto const pairs = a.rotary_dim / 2;
    MK_ROLLED for (auto i = static_cast<std::int32_t>(context.lane()); i < a.head_dim; i += tylo::warp_size) {
      bool const halves = a.pairing == rope::halves;
      bool const leads = halves ? i < pairs : i % 2 == 0;
      auto const apart = halves ? pairs : 1;
      auto const pair = !halves ? i / 2 : leads ? i : i - pairs;
      bool const turns = i < a.rotary_dim;
      if (turns ? pair < first || pair >= first + count : first > 0) continue;
      auto value = handlers::load(x.type, x.at(row, begin + i));
      if (turns) {
        auto const partner = handlers::load(x.type, x.at(row, begin + (leads ? i + apart : i - apart)));
        auto const d = handlers::direction_of(position * frequencies[pair - first]);
        value = value * d.cosine + partner * (leads ? -d.sine : d.sine);
      }
      handlers::store(y.type, y.at(row, begin + i), value);
    }
  }
};

} // namespace mk
