#pragma once

/// Softmax over lines that come piece by piece: the largest score so far, and the sum of the weights relative to it.
/// After Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018).
///
///     auto state = online_softmax<axis::columns, scores_ownership>::start();
///     for each piece:
///       auto const [weights, rescale] = state.update(this_warp{}, scores, scale * log2_e);
///       output = output * rescale + ...weights...
///     output = output * state.normalizer();
///
/// Weights are 2^(scale_log2 * score - shift): `scale_log2` is the softmax's own scale times log2(e), positive, and the
/// same in all calls of a state. The shift is the exponent of the line's largest score, rounded, so that a weight is
/// one fused multiplication and one power. What rounding takes from it, at most 2^-24 of it, all weights of the line,
/// their sum and the normalizer have in common. So shares are right, and the weight of the largest score is close to 1
/// as long as exponents are far below 2^24; it is never above 2^64.
///
/// A score of -inf is a masked element, of weight 0. Where all elements of a line are masked, weights, sum and
/// normalizer are 0 and the largest is -inf: no branch, and no NaN. Where a score is NaN or +inf, the line's sum and
/// normalizer are NaN.

#include <megakernels/tylo/fragment/reduce.hpp>
#include <megakernels/tylo/lane/math.hpp>

#include <cmath>
#include <limits>

namespace tylo {

inline constexpr float log2_e = 1.4426950408889634f;

namespace detail {
inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// The largest score, or 0 where all are masked.
struct largest_of {
  TYLO_FN float operator()(float most) const { return most == minus_infinity ? 0.0f : most; }
};
/// The scale of a line: smaller where the largest exponent would pass 2^30. Exponents of different scores are then at
/// least 64 apart either way, and the smaller share is below 2^-60.
struct scale_of {
  float scale_log2;
  TYLO_FN float operator()(float largest) const {
    constexpr float bound = 0x1p30f, unit = 0x1p-20f; // the largest float has a subnormal reciprocal
    return smaller_of(scale_log2, bound * unit * reciprocal_approximate(std::abs(largest) * unit));
  }
};
/// The exponent of a largest score, rounded: the same wherever it is needed, so that its error is no part of a ratio.
struct exponent_of {
  TYLO_FN float operator()(float score, float scale) const {
    return score == minus_infinity ? minus_infinity : rounded_product(score, scale);
  }
};
struct weight_of {
  TYLO_FN float operator()(float score, float scale, float shift) const {
    return exp2_approximate(fused_multiply_add(score, scale, -shift));
  }
};
struct factor_of {
  TYLO_FN float operator()(float exponent, float shift) const { return exp2_approximate(exponent - shift); }
};

} // namespace detail

/// What the largest scores say of their lines: weights and factors relative to them.
template <class Lines> struct line_scale {
  Lines scale;
  Lines shift; ///< what is subtracted from exponents

  TYLO_FN line_scale(Lines const& most, float scale_log2)
      : scale(map(detail::scale_of{scale_log2}, map(detail::largest_of{}, most))),
        shift(map(detail::exponent_of{}, map(detail::largest_of{}, most), scale)) {}

  template <class Scores> TYLO_FN Scores weights(Scores const& scores) const {
    return map(detail::weight_of{}, scores, scale, shift);
  }
  /// For what belongs to other largest scores.
  TYLO_FN Lines factor(Lines const& other_most) const {
    return map(detail::factor_of{}, map(detail::exponent_of{}, other_most, scale), shift);
  }
};

/// O is the ownership of the scores, Along the axis of the softmax.
template <axis Along, ownership O> struct online_softmax {
  /// One value for each line.
  using line_values = fragment<float, reduced<O, Along>>;
  static constexpr auto along = Along;

  line_values most; ///< the largest score so far, not scaled; -inf where all are masked
  line_values sum;  ///< of the weights

  /// Nothing seen yet.
  static TYLO_FN online_softmax start() {
    return {filled<reduced<O, Along>>(detail::minus_infinity), filled<reduced<O, Along>>(0.0f)};
  }

  struct step {
    fragment<float, O> weights; ///< relative to the new largest score, as the sum is
    line_values rescale;        ///< factor for what was made of earlier weights
  };

  /// Takes in more scores of all lines. All threads of the group take part.
  template <group G>
  TYLO_FN step update(G g, fragment<float, O> const& scores, float scale_log2, site at = site::here()) {
    auto const now = map(larger_value{}, most, max<Along>(g, scores, at));
    line_scale const of_line(now, scale_log2);
    step result{of_line.weights(scores), of_line.factor(most)};
    sum = sum * result.rescale + tylo::sum<Along>(g, result.weights, at);
    most = now;
    return result;
  }

  /// Factors for what was made of the weights of two states.
  struct merge_step {
    line_values mine, theirs;
  };

  /// Takes in what another state has seen of the same lines.
  TYLO_FN merge_step merge(online_softmax const& with, float scale_log2) {
    auto const now = map(larger_value{}, most, with.most);
    line_scale const of_line(now, scale_log2);
    auto const mine = of_line.factor(most), theirs = of_line.factor(with.most);
    sum = sum * mine + with.sum * theirs;
    most = now;
    return {mine, theirs};
  }

  /// Factor that makes weights shares of 1; 0 where all is masked.
  TYLO_FN line_values normalizer() const {
    return map([](float s) { return s == 0.0f ? 0.0f : reciprocal_approximate(s); }, sum);
  }

  /// Natural logarithm of the sum of exp(scale * score); -inf where all is masked.
  TYLO_FN line_values log_sum_exp(float scale_log2) const {
    line_scale const of_line(most, scale_log2);
    return map(
        [scale_log2](float largest, float scale, float shift, float s) {
          auto const rest = std::log2(s) - fused_multiply_add(largest, scale, -shift);
          return s == 0.0f ? detail::minus_infinity : largest * (scale_log2 / log2_e) + rest / log2_e;
        },
        most, of_line.scale, of_line.shift, sum);
  }
};

} // namespace tylo
