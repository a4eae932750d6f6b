#pragma once

/// Proof that a program may run: that it stays in its buffers, ends, and has one meaning.

#include <megakernels/ops/operation_list.hpp>
#include <megakernels/scheduler/program/program.hpp>

namespace mk {

/// Throws program_error, naming node, tensor, record and value, unless all of this holds:
/// - the operation list is the one that the program was made for, and every node is accepted by its operation
///   (arguments, shapes, data types);
/// - all indices are in range; every tensor, window and region of a task lies inside its buffer;
/// - every descriptor is one that the copy engine takes, and its tensor lies inside its buffer (descriptor.hpp);
/// - tasks cover each node's grid exactly once;
/// - no cycle: each worker runs its records in order and every wait is reached, that is, the counter gets exactly the
///   signals that it expects, from records that do not depend on the wait;
/// - of any two tasks that touch the same bytes, one of them writing, one is ordered before the other;
/// - no intermediate is read before it is written, or after other data took its memory;
/// - constants, inputs and step values are not written.
/// Costs about a microsecond a task for a decoder layer on a hundred workers.
void verify(program const&, operation_table const&);

} // namespace mk
