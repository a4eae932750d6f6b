#pragma once

/// How a submission ended, shared between a device and the handles of the submission.

#include <megakernels/runtime/internal/gate.hpp>
#include <megakernels/runtime/submission.hpp>

#include <atomic>
#include <string>
#include <utility>

namespace mk::detail {

class completion {
public:
  [[nodiscard]] submission_state state() const noexcept { return state_.load(std::memory_order_acquire); }

  /// Called once. What the submission wrote is visible to whoever sees the state.
  void finish(submission_state state, std::string reason = {}) {
    reason_ = std::move(reason);
    state_.store(state, std::memory_order_seq_cst);
    gate_.wake();
  }

  void wait() const {
    spinner before(128);
    gate_.wait([&] { return state_.load(std::memory_order_seq_cst) != submission_state::pending; }, before);
  }

  /// Why it did not run to its end; to be read when it is finished.
  [[nodiscard]] std::string const& reason() const noexcept { return reason_; }

private:
  std::atomic<submission_state> state_ = submission_state::pending;
  std::string reason_;
  gate gate_;
};

} // namespace mk::detail
