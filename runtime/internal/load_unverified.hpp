#pragma once

/// For tests of what happens to a program that must not run.

#include <megakernels/runtime/session.hpp>

namespace mk::detail {

/// `session::load` without `verify`. The program must still be well-formed: indices in range, tensors in their buffers,
/// nodes that their operations accept. Only its order may be wrong (waits, signals, expected counts).
program_id load_unverified(session&, program);

} // namespace mk::detail
