#pragma once

/// A measured figure, and the line that is kept of it.

#include "kit/statistics.hpp"

#include <map>
#include <optional>
#include <string>

namespace mk::bench {

struct figure {
  std::string unit; ///< us, GB/s, TFLOP/s, token/s or 1/s
  summary measured;
  std::optional<double> limit{};             ///< what the machine allows, in the same unit, where that is known
  std::map<std::string, double> baselines{}; ///< others' figures for the same work, measured in the same run
  std::string verdict;                       ///< what was checked of the results
};

/// Where and of what figures are.
struct origin {
  std::string device;
  std::string commit; ///< of the source folder; ends in -dirty where its files differ from that
  std::string date;   ///< YYYY-MM-DD, UTC
};

/// The origin of figures made now.
origin origin_on(std::string device);

/// Name of the processor and number of its cores.
std::string cpu_name();

/// One line of JSON, without its end. Numbers are rounded to five digits.
std::string to_json_line(std::string const& name, figure const&, origin const&);

/// Name of the file that keeps the figures of a device: its lower-case letters and digits, - between words, .jsonl.
std::string results_file(std::string const& device);

} // namespace mk::bench
