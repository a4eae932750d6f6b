#include <megakernels/runtime/internal/completion.hpp>
#include <megakernels/runtime/submission.hpp>

namespace mk {

submission_state submission::state() const noexcept {
  return completion_ == nullptr ? submission_state::done : completion_->state();
}

void submission::wait() const {
  if (completion_ == nullptr) return;
  completion_->wait();
  if (state() == submission_state::failed) throw device_error(completion_->reason());
  if (state() == submission_state::cancelled) throw submission_cancelled(completion_->reason());
}

} // namespace mk
