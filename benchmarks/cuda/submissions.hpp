#pragma once

/// Times of submissions.

#include <megakernels/runtime/session.hpp>

#include "kit/statistics.hpp"
#include "kit/timing.hpp"

#include <cstddef>
#include <vector>

namespace mk::bench {

inline double microseconds(session& s, program_id p, step const& values) {
  stopwatch const watch;
  s.submit(p, values).wait();
  return watch.seconds() * 1e6;
}

/// What one more of `count` costs: each long run less a short one, beside which it is taken.
template <class Long, class Short>
std::vector<double> differences(std::size_t runs, double count, Long&& of_long, Short&& of_short) {
  std::vector<double> result, brief;
  for (std::size_t i = 0; i < runs + 3; ++i) {
    auto const all = of_long();
    auto const one = of_short();
    if (i < 3) continue; // until caches and clocks are warm
    result.push_back(all);
    brief.push_back(one);
  }
  auto const one = summarize(brief).median;
  for (auto& us : result) us = (us - one) / count;
  return result;
}

} // namespace mk::bench
