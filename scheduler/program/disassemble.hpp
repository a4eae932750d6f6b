#pragma once

/// Programs as text for people.

#include <megakernels/ops/operation_list.hpp>
#include <megakernels/scheduler/program/program.hpp>

#include <string>

namespace mk {

/// A listing of all that a program holds: buffers, tensors, descriptors, nodes, then the records of each worker with
/// what they wait for and signal:
///
///     3: 'down' columns 2, rows 0..1, waits c4 (8 'up'), signals c6 ('norm')
///
/// is record 3, column tile 2 and row tile 0 of node 'down'; it waits until counter 4 has 8 signals, which tasks of
/// 'up' give, and signals counter 6, for which tasks of 'norm' wait. The program need not be verified: `?` stands for
/// what is out of range.
std::string disassemble(program const&, operation_table const&);

} // namespace mk
