#pragma once

/// The device side of `softmax`. Common rows stay in registers: each warp has a piece with its own largest number and
/// sum, and the warps of a team join theirs through scratch. Any other row is read three times, by all threads.

#include <megakernels/ops/device/element.hpp>
#include <megakernels/ops/device/reduce.hpp>
#include <megakernels/ops/device/rolled.hpp>
#include <megakernels/ops/device/row_teams.hpp>
#include <megakernels/ops/handler.hpp>
#include <megakernels/ops/softmax/softmax.hpp>
#include <megakernels/tylo/fragment/online_softmax.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mk {

template <> struct handler<softmax> {
  template <class Context> static TYLO_FN void load(Context& context, softmax::arguments const& a, task const& t) {
    auto const& x = context.operand(softmax::x);
    if (!goes_by_teams(context, a, context.consumer_warps())) return;
    if (is_narrow(x))
      handlers::lend_pages_for_rows<narrow>(context, x, t);
    else
      handlers::lend_pages_for_rows<wide>(context, x, t);
  }

  template <class Context> static TYLO_FN void compute(Context& context, softmax::arguments const& a, task const& t) {
    auto const& x = context.operand(softmax::x);
    auto const& y = context.operand(softmax::y);
    if (!goes_by_teams(context, a, Context::warps))
      by_all(context, x, y, a.scale, t);
    else if (is_narrow(x))
      by_teams<narrow>(context, x, y, a.scale * tylo::log2_e, t);
    else
      by_teams<wide>(context, x, y, a.scale * tylo::log2_e, t);
  }

private:
  static constexpr float infinity = std::numeric_limits<float>::infinity();
  /// Vectors of 8 elements that a lane has of a row: a warp has 1,024 or 4,096 elements.
  static constexpr int narrow = 4, wide = 16;

  static TYLO_FN bool is_narrow(tensor_view const& x) { return x.extent(1) <= handlers::piece_columns<narrow>; }

  /// Other scales are for those who look at each number more than once: a negative one turns the order, and 0 makes NaN
  /// of the -inf past the end of a row.
  template <class Context>
  static TYLO_FN bool goes_by_teams(Context const& context, softmax::arguments const& a, unsigned warps) {
    bool const common_scale = a.scale > 0 && a.scale * tylo::log2_e < infinity;
    return common_scale && handlers::fits_teams<wide>(context.operand(softmax::x), warps) &&
           handlers::fits_teams<wide>(context.operand(softmax::y), warps);
  }

  template <int Vectors, class Context>
  static TYLO_FN void by_teams(Context& context, tensor_view const& x, tensor_view const& y, float scale_log2,
                               task const& t) {
    using state = tylo::online_softmax<tylo::axis::columns, handlers::row_piece<Vectors>>;
    tylo::cache_policy const cache(handlers::outgrows_cache(y));
    auto const team = handlers::team_for<Vectors>(context, x.extent(1));
    handlers::team_scratch<state, Context> shared(context);
    handlers::for_rows<Vectors>(context, x, t, team, -infinity, [&](std::int64_t row, auto const& numbers) {
      auto mine = state::start();
      auto const weights = mine.update(tylo::this_warp{}, numbers, scale_log2).weights;
      auto const factor = join(team, mine, shared.next(team), scale_log2);
      handlers::store_piece<Vectors>(y, row, team, weights * factor, cache);
    });
  }

  /// What makes the weights of a warp's piece shares of the row. Each lane takes the state of one of the team's warps.
  template <class State>
  static TYLO_FN auto join(handlers::row_team const& team, State const& mine, State* of_team, float scale_log2) {
    if (team.warps == 1) return mine.normalizer();
    handlers::tell_team(team, of_team, mine);
    auto const lane = tylo::lane_rank();
    auto const theirs = lane < team.warps ? of_team[lane] : State::start();
    State all{{{tylo::join_lanes(only(theirs.most), tylo::larger_value{})}}, {}};
    tylo::line_scale const of_line(all.most, scale_log2);
    all.sum = {{tylo::join_lanes(only(theirs.sum * of_line.factor(theirs.most)), tylo::add_values{})}};
    return of_line.factor(mine.most) * all.normalizer();
  }

  template <class Context>
  static TYLO_FN void by_all(Context& context, tensor_view const& x, tensor_view const& y, float scale, task const& t) {
    auto const width = x.extent(1);
    auto* const slots = context.template scratch<float>();
    for (auto row = t.row_begin; row < t.row_end; ++row) {
      auto const number = [&](std::int64_t i) {
        auto const v = handlers::load(x.type, x.at(row, i));
        return scale < 0 ? -v : v;
      };
      float most = -infinity;
      MK_ROLLED for (std::int64_t i = context.thread(); i < width; i += Context::threads) {
        most = tylo::larger_of(most, ranked(number(i), scale));
      }
      most = handlers::team_max(context, most, slots);

      float sum = 0;
      MK_ROLLED for (std::int64_t i = context.thread(); i < width; i += Context::threads) {
        sum += term(number(i), most, scale);
      }
      sum = handlers::team_sum(context, sum, slots);
      MK_ROLLED for (std::int64_t i = context.thread(); i < width; i += Context::threads) {
        auto const share = term(number(i), most, scale) / sum;
        handlers::store(y.type, y.at(row, i),
                        most == infinity    ? std::numeric_limits<float>::quiet_NaN()
                        : most == -infinity ? 0.0f
                                            : share);
      }
    }
  }

  /// The number, or infinity where its row has no result: one maximum then answers both questions.
  static TYLO_FN float ranked(float v, float scale) {
    bool const refused = v != v || v == infinity || (scale == 0 && v == -infinity);
    return refused ? infinity : v;
  }

  /// exp(scale * v - scale * most) without overflow on the way, as in the reference.
  static TYLO_FN float term(float v, float most, float scale) {
    return std::exp(2.0f * (std::abs(scale) * (v / 2 - most / 2)));
  }
};

} // namespace mk
