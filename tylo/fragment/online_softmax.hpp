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
inline constexpr float largest_float = std::numeric_limits<float>::max();

/// What is subtracted from scores: the largest, or 0 where there is none.
struct shift_of {
  TYLO_FN float operator()(float most) const { return most == minus_infinity ? 0.0f : most; }
};
/// The weight of a score. Halves are subtracted, so that finite scores have a finite difference.
struct weight_of {
  float twice_scale;
  TYLO_FN explicit weight_of(float scale_log2) : twice_scale(smaller_of(2.0f * scale_log2, largest_float)) {}
  TYLO_FN float operator()(float score, float shift) const {
    return exp2_approximate(fused_multiply_add(score, 0.5f, -0.5f * shift) * twice_scale);
  }
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
    auto const shift = map(detail::shift_of{}, now);
    detail::weight_of const weight{scale_log2};
    step result{map(weight, scores, shift), map(weight, most, shift)};
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
    auto const shift = map(detail::shift_of{}, now);
    detail::weight_of const weight{scale_log2};
    auto const mine = map(weight, most, shift), theirs = map(weight, with.most, shift);
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
