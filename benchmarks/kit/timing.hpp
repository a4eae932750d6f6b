#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace mk::bench {

/// Runs since it was made.
class stopwatch {
public:
  double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

private:
  using clock = std::chrono::steady_clock;
  clock::time_point start_ = clock::now();
};

/// Seconds of each of `runs` calls, after one that is not counted.
template <class F> std::vector<double> time_runs(std::size_t runs, F&& f) {
  f();
  std::vector<double> seconds;
  for (std::size_t i = 0; i < runs; ++i) {
    stopwatch const watch;
    f();
    seconds.push_back(watch.seconds());
  }
  return seconds;
}

} // namespace mk::bench
