#pragma once

/// From names to addresses: checks a step against its program.

#include <megakernels/runtime/internal/session_core.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mk::detail {

/// What a device needs of a step.
struct bound_step {
  std::vector<std::int64_t> live;
  std::vector<std::byte*> addresses; ///< of each buffer
  std::shared_ptr<std::byte const> values;
  std::uint32_t steps = 1;
  std::vector<job_feed> feeds;
  std::vector<memory_range> outputs; ///< memory of the caller that is written
};

/// Throws `submit_error` naming all that is wrong. `hidden` is memory whose contents are not final yet: no operation
/// checks inputs that lie there, or what the host cannot read.
bound_step bind_step(session_program const&, step const&, std::span<memory_range const> hidden, device const&);

} // namespace mk::detail
