#pragma once

/// The device side of layer_norm.

#include <megakernels/ops/device/element.hpp>
#include <megakernels/ops/device/reduce.hpp>
#include <megakernels/ops/device/rolled.hpp>
#include <megakernels/ops/device/row_teams.hpp>
#include <megakernels/ops/handler.hpp>
#include <megakernels/tylo/fragment/fragment.hpp>
#include <megakernels/tylo/fragment/reduce.hpp>

#include "../tylo/columns.hpp"
#include "layer_norm.hpp"

#include <cmath>

// [compute]
template <> struct mk::handler<my::layer_norm> {
  using op = my::layer_norm;

  /// What all consumer threads of a worker do with a task.
  template <class Context> static TYLO_FN void compute(Context& context, op::arguments const& a, task const& t) {
    if (rows_fit_warps(context))
      by_warps(context, a.epsilon, t);
    else
      by_all(context, a.epsilon, t);
  }
  // [/compute]

private:
  // [all]
  /// Row by row: of each, a thread has every `Context::threads`-th element.
  template <class Context> static TYLO_FN void by_all(Context& context, float epsilon, task const& t) {
    auto const &x = context.operand(op::x), &y = context.operand(op::y);
    auto const &weight = context.operand(op::weight), &bias = context.operand(op::bias);
    auto const width = x.extent(1);
    auto const for_mine = [&](auto f) {
      MK_ROLLED for (std::int64_t i = context.thread(); i < width; i += Context::threads) f(i);
    };
    for (auto row = t.row_begin; row < t.row_end; ++row) {
      auto const number = [&](std::int64_t i) { return handlers::load(x.type, x.at(row, i)); };
      float sum = 0, squares = 0;
      for_mine([&](std::int64_t i) { sum += number(i); });
      auto const mean = sum_of_all(context, sum) / static_cast<float>(width);
      for_mine([&](std::int64_t i) { squares += (number(i) - mean) * (number(i) - mean); });
      auto const scale = scale_of(sum_of_all(context, squares) / static_cast<float>(width), epsilon);
      for_mine([&](std::int64_t i) {
        auto const gain = handlers::load(weight.type, weight.at(i));
        auto const shift = bias.present() ? handlers::load(bias.type, bias.at(i)) : 0.0f;
        handlers::store(y.type, y.at(row, i), (number(i) - mean) * scale * gain + shift);
      });
    }
  }

  /// The sum of what all threads have, for each of them. (`handlers::team_sum` is the same.)
  template <class Context> static TYLO_FN float sum_of_all(Context& context, float mine) {
    auto* const sums = context.template scratch<float>(); // shared memory: a number for each warp
    auto const of_warp = handlers::warp_sum(mine);
    if (context.lane() == 0) sums[context.warp()] = of_warp;
    context.sync(); // all warps have written
    float all = 0;
    for (unsigned w = 0; w < Context::warps; ++w) all += sums[w];
    context.sync(); // all threads have read, and the next sum may be written
    return all;
  }

  static TYLO_FN float scale_of(float variance, float epsilon) { return 1.0f / std::sqrt(variance + epsilon); }
  // [/all]

  // [warps]
  /// Elements of a row that each lane of a warp has: 4 times 8 neighbours, so that a row has up to 1,024.
  static constexpr int vectors = 4;

  /// A row for each warp: read once, kept in registers, written once.
  template <class Context> static TYLO_FN void by_warps(Context& context, float epsilon, task const& t) {
    auto const &x = context.operand(op::x), &y = context.operand(op::y);
    auto const &weight = context.operand(op::weight), &bias = context.operand(op::bias);
    auto const width = static_cast<int>(x.extent(1));
    constexpr auto piece = handlers::row_piece<vectors>;
    constexpr auto columns = tylo::axis::columns;
    tylo::this_warp const warp;
    tylo::cache_policy const cache(handlers::outgrows_cache(y));
    auto const team = handlers::team_for<vectors>(context, width); // of one warp
    auto const inside = columns_of<piece>(warp) < width;
    auto const gain = handlers::load_piece<vectors>(as_row(weight), 0, team, 0.0f);
    auto shift = tylo::filled<piece>(0.0f);
    if (bias.present()) shift = handlers::load_piece<vectors>(as_row(bias), 0, team, 0.0f);

    for (auto row = t.row_begin + context.warp(); row < t.row_end; row += Context::warps) {
      auto const numbers = handlers::load_piece<vectors>(x, row, team, 0.0f); // past the row's end: 0
      auto const mean = tylo::sum<columns>(warp, numbers) / static_cast<float>(width);
      auto const centred = select(inside, numbers - mean, 0.0f);
      auto const variance = tylo::sum<columns>(warp, centred * centred) / static_cast<float>(width);
      auto const scale = tylo::map([epsilon](float v) { return scale_of(v, epsilon); }, variance);
      handlers::store_piece<vectors>(y, row, team, centred * scale * gain + shift, cache);
    }
  }

  /// Whether a warp can hold a row, and move it by vectors. The answer must not depend on the task.
  template <class Context> static TYLO_FN bool rows_fit_warps(Context const& context) {
    auto const fits = [](tensor_view const& rows) { return handlers::fits_teams<vectors>(rows, 1); };
    auto const &weight = context.operand(op::weight), &bias = context.operand(op::bias);
    return fits(context.operand(op::x)) && fits(context.operand(op::y)) && fits(as_row(weight)) &&
           (!bias.present() || fits(as_row(bias)));
  }

  /// [width] as the one row of a matrix.
  static TYLO_FN tensor_view as_row(tensor_view v) {
    return {.data = v.data, .type = v.type, .rank = 2, .extents = {1, v.extent(0)}, .strides = {0, v.stride(0)}};
  }
  // [/warps]
};
