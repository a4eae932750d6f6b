#pragma once

/// The device side of an operation. `ops/<name>/handler.hpp` specialises `handler` for its operation:
///
///     template <> struct handler<scale> {
///       // optional
///       template <class Context> static TYLO_FN void load(Context&, scale::arguments const&, task const&);
///       template <class Context> static TYLO_FN void compute(Context&, scale::arguments const&, task const&);
///     };
///
/// `task` is cut to the live rows and never empty. `compute` runs on all `Context::threads` consumer threads of a
/// worker, which are also `context.group()`; `load` on one thread, ahead of what the task waits for: it copies only
/// operands that are `constant`, and may lend pages of the ring to `compute`. Contents of operands may be anything: a
/// handler stays in their memory whatever they hold. It must leave no thread behind: all threads make the same calls of
/// `sync`, `wait_span`, `release_span`, `wait_lent` and `release_lent`, and `compute` waits for exactly the spans and
/// pages that `load` fills and lends: where the two disagree, or one does not return, the kernel never ends. See
/// runtime/device/context.hpp for Context.

#include <megakernels/ops/operation.hpp>
#include <megakernels/tylo/target.hpp>

namespace mk {

template <class Op> struct handler;

} // namespace mk
