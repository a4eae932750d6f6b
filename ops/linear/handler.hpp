#pragma once

/// The device side of `linear`. Weights that no task writes come through the ring; a warp takes a column at a time and
/// multiplies it with all rows of x, which it reads from global memory.

#include <megakernels/ops/device/activation.hpp>
#include <megakernels/ops/device/dot.hpp>
#include <megakernels/ops/handler.hpp>
#include <megakernels/ops/linear/weight_stream.hpp>

#include <limits>

namespace mk {

template <> struct handler<linear> {
  template <class Context> static TYLO_FN void load(Context& context, linear::arguments const&, task const& t) {
    auto const groups = handlers::groups_of(context, t);
    if (!groups.weight.streams() && !groups.up.streams()) return;
    MK_ROLLED for (auto column = groups.begin; column < groups.end; column += groups.size) {
      auto const count = static_cast<std::uint32_t>(std::min(groups.size, groups.end - column));
      MK_ROLLED for (int which = 0; which < 2; ++which) {
        auto const slot = which == 0 ? linear::weight : linear::up;
        handlers::load_rows(context, slot, handlers::stream_of(context, slot), column, count);
      }
    }
  }

  template <class Context> static TYLO_FN void compute(Context& context, linear::arguments const& a, task const& t) {
    constexpr auto warps = std::int64_t(Context::warps);
    auto const groups = handlers::groups_of(context, t);
    // The warps take turns over all columns of the task, so that spans of few rows give work to all of them.
    auto next = groups.begin + context.warp();
    for (auto column = groups.begin; column < groups.end; column += groups.size) {
      auto const weight = handlers::await_rows(context, linear::weight, groups.weight, column);
      auto const up = handlers::await_rows(context, linear::up, groups.up, column);
      for (auto const end = std::min(column + groups.size, groups.end); next < end; next += warps)
        multiply(context, a, t, next, weight.first + (next - column) * weight.pitch,
                 up.first + (next - column) * up.pitch);
      handlers::done_with(context, groups.weight);
      handlers::done_with(context, groups.up);
    }
  }

private:
  /// One column of y: a warp.
  template <class Context>
  static TYLO_FN void multiply(Context const& context, linear::arguments const& a, task const& t, std::int64_t column,
                               std::byte const* weight_row, std::byte const* up_row) {
    auto const& x = context.operand(linear::x);
    bool const gated = context.operand(linear::up).present();
    auto const weight = elements_of(context.operand(linear::weight), weight_row);
    auto const up = elements_of(context.operand(linear::up), up_row);
    auto from = elements_of(x, x.at(t.row_begin));
    auto const pitch = x.stride(0) * handlers::element_bytes(x.type);
    bool const many = handlers::is_common(from, weight) && (!gated || handlers::is_common(from, up));
    for (auto row = t.row_begin; row < t.row_end;) {
      auto const rows = many && t.row_end - row >= handlers::dot_rows ? handlers::dot_rows : 1;
      float product = 0, up_product = 0;
      // First up, then the weight: so the code of a product stands once.
      MK_ROLLED for (int which = gated ? 1 : 0; which >= 0; --which) {
        up_product = product;
        handlers::elements const by{.first = which == 0 ? weight.first : up.first,
                                    .step = which == 0 ? weight.step : up.step,
                                    .type = which == 0 ? weight.type : up.type};
        product = handlers::dot(from, pitch, rows, by, x.extent(1), context.lane());
      }
      if (context.lane() < rows) finish(context, a, row + context.lane(), column, product, up_product);
      row += rows;
      from.first += rows * pitch;
    }
  }

  static TYLO_FN handlers::elements elements_of(tensor_view const& row_of, std::byte const* first) {
    return {.first = first, .step = row_of.stride(1) * handlers::element_bytes(row_of.type), .type = row_of.type};
  }

  /// The formula after the products, and the store.
  template <class Context>
  static TYLO_FN void finish(Context const& context, linear::arguments const& a, std::int64_t row, std::int64_t column,
                             float product, float up_product) {
    auto const scale_of = [&](int slot) { // fp32
      auto const& from = context.operand(slot);
      return from.present() ? handlers::load_as<float>(from.at(column)) : 1.0f;
    };
    auto v = scale_of(linear::scale) * product;
    auto const& bias = context.operand(linear::bias);
    if (bias.present()) v += handlers::load(bias.type, bias.at(column));
    if (a.activation == linear::silu) v = handlers::silu(v);
    if (context.operand(linear::up).present()) v *= scale_of(linear::up_scale) * up_product;
    auto const& residual = context.operand(linear::residual);
    if (residual.present()) v += handlers::load(residual.type, residual.at(row, column));
    auto const& y = context.operand(linear::y);
    handlers::store(y.type, y.at(row, column), v == v ? v : std::numeric_limits<float>::quiet_NaN());
  }
};

} // namespace mk
