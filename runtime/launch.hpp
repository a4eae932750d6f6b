#pragma once

/// Submissions on a stream of the caller's.

#include <megakernels/runtime/program_id.hpp>
#include <megakernels/runtime/step.hpp>

#include <memory>

struct CUstream_st; // cudaStream_t is a pointer to it

namespace mk {

namespace detail {
class prepared_launch;
struct session_core;
} // namespace detail

/// One program of a session on a GPU, ready to be launched on streams, eagerly or captured in a CUDA graph. Made by
/// `session::prepare`; must not outlive its session, nor be used while the session has submissions of the program.
///
/// A launch takes the step that was set last: it copies the step's values from pinned memory and runs the kernel
/// cooperatively, both on the stream, so that a captured launch replays with whatever `set` has written since. A
/// program is not re-entrant: eager launches are ordered one behind the other, on whatever streams; replays the caller
/// orders. After a failure: `session::reset`, then `prepare` anew.
class launch {
public:
  launch(detail::session_core&, std::unique_ptr<detail::prepared_launch>, program_id);
  ~launch();
  launch(launch&&) noexcept;
  launch& operator=(launch&&) noexcept;

  /// Values and lengths of launches and replays to come. Bound memory must be the GPU's; its addresses may change.
  /// Waits for eager launches; replays that are under way must have ended. Throws as `session::submit` does, and
  /// device_error where an earlier launch has failed.
  void set(step const&);

  /// Enqueues the copy and the kernel. Throws device_error where that, or an earlier launch, has failed.
  void enqueue(CUstream_st* stream);

  /// Waits for eager launches and throws device_error, naming node and edge, where one of them or a replay has failed.
  void check();

private:
  detail::session_core* core_;
  std::unique_ptr<detail::prepared_launch> prepared_;
  program_id program_;
};

} // namespace mk
