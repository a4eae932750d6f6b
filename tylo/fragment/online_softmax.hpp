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
/// Weights are powers of two of `scale_log2 * (score - largest)`: `scale_log2` is the softmax's own scale times
/// log2(e), and must be positive. A score of -inf is a masked element, of weight 0. Where all elements of a line
/// are masked, weights, sum and normalizer are 0 and the largest is -inf: no branch, and no NaN. NaN and +inf are
/// outside the contract.

#include <megakernels/tylo/fragment/reduce.hpp>
#include <megakernels/tylo/lane/math.hpp>

#include <cmath>
#include <limits>

namespace tylo {

inline constexpr float log2_e = 1.4426950408889634f;

namespace detail {
inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// The scale of a line: smaller where the largest score times the scale would overflow. Differences of such scores are
/// so large that all weights are 0 or 1 either way.
struct scale_of_line {
  float scale_log2;
  TYLO_FN float operator()(float most) const {
    constexpr float bound = 1e30f, unit = 0x1p-20f; // the largest float has a subnormal reciprocal
    return smaller_of(scale_log2, bound * unit * reciprocal_approximate(std::abs(most) * unit));
  }
};
/// The exponent of a score. Rounded, and the same wherever it is needed, so that its error is no part of a ratio.
struct exponent_of {
  TYLO_FN float operator()(float score, float scale) const {
    return score == minus_infinity ? minus_infinity : rounded_product(score, scale);
  }
};
/// What is subtracted from exponents: that of the largest score, or 0 where there is none.
struct shift_of {
  TYLO_FN float operator()(float exponent) const { return exponent == minus_infinity ? 0.0f : exponent; }
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
    fragment<float, O> weights; ///< relative to the new largest score
    line_values rescale;        ///< factor for what was made of earlier weights
  };

  /// Takes in more scores of all lines. All threads of the group take part.
  template <group G>
  TYLO_FN step update(G g, fragment<float, O> const& scores, float scale_log2, site at = site::here()) {
    auto const now = map(larger_value{}, most, max<Along>(g, scores, at));
    auto const scale = map(detail::scale_of_line{scale_log2}, now);
    auto const shift = map(detail::shift_of{}, map(detail::exponent_of{}, now, scale));
    auto const before = map(detail::exponent_of{}, most, scale);
    step result{map(detail::weight_of{}, scores, scale, shift), map(detail::factor_of{}, before, shift)};
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
    auto const scale = map(detail::scale_of_line{scale_log2}, now);
    auto const shift = map(detail::shift_of{}, map(detail::exponent_of{}, now, scale));
    auto const mine = map(detail::factor_of{}, map(detail::exponent_of{}, most, scale), shift);
    auto const theirs = map(detail::factor_of{}, map(detail::exponent_of{}, with.most, scale), shift);
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
    return map(
        [scale_log2](float m, float s) {
          return s == 0.0f ? detail::minus_infinity : (m * scale_log2 + std::log2(s)) / log2_e;
        },
        most, sum);
  }
};

} // namespace tylo
