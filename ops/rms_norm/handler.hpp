#pragma once

/// The device side of `rms_norm`. Common rows stay in registers, cut into pieces for the warps of a team; any other row
/// is read twice, by all threads.

#include <megakernels/ops/device/element.hpp>
#include <megakernels/ops/device/reduce.hpp>
#include <megakernels/ops/device/rolled.hpp>
#include <megakernels/ops/device/row_teams.hpp>
#include <megakernels/ops/handler.hpp>
#include <megakernels/ops/rms_norm/rms_norm.hpp>
#include <megakernels/tylo/fragment/reduce.hpp>

#include <cmath>

namespace mk {

template <> struct handler<rms_norm> {
  template <class Context> static TYLO_FN void load(Context& context, rms_norm::arguments const&, task const& t) {
    if (goes_by_teams(context, context.consumer_warps()))
      handlers::lend_pages_for_rows<vectors>(context, context.operand(rms_norm::x), t);
  }

  template <class Context> static TYLO_FN void compute(Context& context, rms_norm::arguments const& a, task const& t) {
    auto const& x = context.operand(rms_norm::x);
    auto const& weight = context.operand(rms_norm::weight);
    auto const& y = context.operand(rms_norm::y);
    if (goes_by_teams(context, Context::warps))
      by_teams(context, x, weight, y, a.epsilon, t);
    else
      by_all(context, x, weight, y, a.epsilon, t);
  }

private:
  static constexpr int vectors = 4; ///< of 8 elements, a lane

  template <class Context> static TYLO_FN bool goes_by_teams(Context const& context, unsigned warps) {
    auto const& weight = context.operand(rms_norm::weight);
    return (!weight.present() || handlers::fits_teams<vectors>(as_row(weight), warps)) &&
           handlers::fits_teams<vectors>(context.operand(rms_norm::x), warps) &&
           handlers::fits_teams<vectors>(context.operand(rms_norm::y), warps);
  }

  /// The weights [n] as the one row of a matrix.
  static TYLO_FN tensor_view as_row(tensor_view weight) {
    weight.extents[1] = weight.extents[0];
    weight.strides[1] = weight.strides[0];
    weight.extents[0] = 1;
    weight.strides[0] = 0;
    return weight;
  }

  template <class Context>
  static TYLO_FN void by_teams(Context& context, tensor_view const& x, tensor_view const& weight, tensor_view const& y,
                               float epsilon, task const& t) {
    auto const width = x.extent(1);
    tylo::cache_policy const cache(handlers::outgrows_cache(y));
    auto const team = handlers::team_for<vectors>(context, width);
    handlers::team_scratch<float, Context> sums(context);
    auto gain = tylo::filled<handlers::row_piece<vectors>>(1.0f);
    if (weight.present() && team.team < team.teams) gain = handlers::load_piece<vectors>(as_row(weight), 0, team, 0.0f);
    handlers::for_rows<vectors>(context, x, t, team, 0.0f, [&](std::int64_t row, auto const& numbers) {
      auto squares = only(tylo::sum<tylo::axis::columns>(tylo::this_warp{}, numbers * numbers));
      auto* const of_team = sums.next(team);
      if (team.warps > 1) {
        handlers::tell_team(team, of_team, squares);
        squares = of_team[0];
        MK_ROLLED for (unsigned w = 1; w < team.warps; ++w) squares += of_team[w];
      }
      handlers::store_piece<vectors>(y, row, team, numbers * scale_of(squares, width, epsilon) * gain, cache);
    });
  }

  template <class Context>
  static TYLO_FN void by_all(Context& context, tensor_view const& x, tensor_view const& weight, tensor_view const& y,
                             float epsilon, task const& t) {
    auto const width = x.extent(1);
    for (auto row = t.row_begin; row < t.row_end; ++row) {
      float squares = 0;
      MK_ROLLED for (std::int64_t i = context.thread(); i < width; i += Context::threads) {
        auto const value = handlers::load(x.type, x.at(row, i));
        squares = std::fma(value, value, squares);
      }
      squares = handlers::team_sum(context, squares, context.template scratch<float>());
      auto const scale = scale_of(squares, width, epsilon);
      MK_ROLLED for (std::int64_t i = context.thread(); i < width; i += Context::threads) {
        auto const gain = weight.present() ? handlers::load(weight.type, weight.at(i)) : 1.0f;
        handlers::store(y.type, y.at(row, i), handlers::load(x.type, x.at(row, i)) * scale * gain);
      }
    }
  }

  static TYLO_FN float scale_of(float squares, std::int64_t width, float epsilon) {
    return 1.0f / std::sqrt(squares / static_cast<float>(width) + epsilon);
  }
};

} // namespace mk
