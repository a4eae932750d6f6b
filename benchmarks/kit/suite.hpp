#pragma once

/// What the benchmark programs share: options, the order of work, where results go.

#include "kit/figure.hpp"

#include <functional>
#include <string>
#include <vector>

namespace mk::bench {

struct benchmark {
  std::string name;            ///< parts with / between them
  std::function<figure()> run; ///< throws mk::error where a result is not what it must be
};

/// The main function of a benchmark program: runs those whose name contains `--filter`, prints a line for each, and
/// with `--json FILE` appends to FILE (in a folder: to `results_file` of the device). Returns the exit code: not 0
/// where a benchmark failed; of that one no figure is kept.
int run_suite(int argc, char** argv, std::string const& about, std::string const& device,
              std::vector<benchmark> const&);

/// Throws mk::error with `what` unless `ok`: no figure without a right result.
void expect(bool ok, std::string const& what);

} // namespace mk::bench
