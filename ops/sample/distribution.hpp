#pragma once

/// The distribution that a row of logits is drawn from, step by step as `sample.hpp` tells it.

#include <cstdint>
#include <span>
#include <vector>

namespace mk::sampling {

/// How a row is to be drawn from.
struct rule {
  double temperature = 1; ///< 0: arg-max; not negative, not NaN
  std::int32_t top_k = 0; ///< 1 to vocabulary - 1, other values: all
  double top_p = 1;       ///< not NaN
};

/// What is known of a row before any rule is applied.
struct extremes {
  float largest = 0;
  std::int32_t first_largest = -1; ///< lowest index of the largest logit, -1: the row cannot be drawn from
};

/// The arg-max of a row. A row with a NaN or +infinity, of -infinities alone, or of no logits has none.
extremes extremes_of(std::span<float const> logits);

/// The first tokens of the kept set in descending order. `cumulative[i]` is the weight of tokens 0 to i, that of the
/// largest logit being 1.
struct kept {
  std::vector<std::int32_t> tokens;
  std::vector<double> cumulative;
  double total = 0; ///< weight of the whole kept set
};

/// The kept set of a row that can be drawn from. Where neither top_k nor top_p bounds the set, only as many tokens are
/// listed as have more than `share` of its weight (all from 1 on), since a descending order of everything costs more
/// than most draws need.
kept kept_set(std::span<float const> logits, extremes const&, rule const&, double share = 1);

/// The first token with cumulative weight over u * total; the last one listed with a weight where rounding leaves none.
/// 0 <= u < 1.
std::int32_t pick(kept const&, double u);

} // namespace mk::sampling
