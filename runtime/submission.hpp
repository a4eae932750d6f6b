#pragma once

/// A submission that was accepted: a handle to ask and to wait with.

#include <megakernels/ops/error.hpp>

#include <memory>
#include <utility>

namespace mk {

namespace detail {
class completion;
}

/// A submission that never ran, because one before it failed, or its session was reset or destroyed.
struct submission_cancelled : device_error {
  using device_error::device_error;
};

/// How far a submission is.
enum class submission_state {
  pending,   ///< queued or running
  done,      ///< all outputs and states are written
  failed,    ///< stopped midway; outputs and states hold anything
  cancelled, ///< never started; nothing was written
};

/// A handle, cheap to copy, that outlives its session. Dropping it does not stop the submission. One that was
/// default-constructed counts as done.
class submission {
public:
  submission() = default;
  explicit submission(std::shared_ptr<detail::completion const> completion) : completion_(std::move(completion)) {}

  [[nodiscard]] submission_state state() const noexcept;
  /// Whether the session has finished with the submission's memory, however it ended.
  [[nodiscard]] bool done() const noexcept { return state() != submission_state::pending; }
  /// Waits for the end. Throws `device_error` where the submission failed and `submission_cancelled` where it never
  /// ran. May be called any number of times, by any thread.
  void wait() const;

private:
  std::shared_ptr<detail::completion const> completion_;
};

} // namespace mk
