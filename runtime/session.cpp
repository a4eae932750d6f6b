#include <megakernels/runtime/internal/load_unverified.hpp>
#include <megakernels/runtime/internal/session_core.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/program/verify.hpp>

#include <utility>

namespace mk {

session::session(device_choice device, operation_table operations)
    : core_(std::make_unique<detail::session_core>(device, operations)) {}

session::~session() = default;
session::session(session&&) noexcept = default;
session& session::operator=(session&&) noexcept = default;

program_id session::load(program p) {
  verify(p, core_->operations);
  return core_->load(std::move(p));
}

void session::set_constant(std::string_view name, std::shared_ptr<tensor const> value) {
  core_->set_constant(name, std::move(value));
}

submission session::submit(program_id id, step const& s) { return core_->submit(id, s); }

launch session::prepare(program_id id, step const& s) {
  launch result(*core_, core_->machine->prepare(core_->find(id).number), id);
  result.set(s);
  return result;
}

void session::wait_idle() const { core_->machine->wait_idle(); }

session_status session::status() const {
  return {.pending = core_->machine->pending(),
          .failure = core_->machine->failure(),
          .kernel_starts = core_->machine->kernel_starts()};
}

void session::reset() { core_->reset(); }

tensor_view session::state(std::string_view name) const {
  wait_idle();
  std::lock_guard const lock(core_->mutex);
  auto const at = core_->states.find(name);
  if (at == core_->states.end())
    throw submit_error("state '" + std::string(name) + "' belongs to no program that is loaded");
  return at->second.view;
}

std::uint32_t session::epoch(program_id id) const {
  wait_idle();
  std::lock_guard const lock(core_->mutex);
  return core_->machine->epoch(core_->find(id).number);
}

std::vector<std::uint32_t> session::counters(program_id id) const {
  wait_idle();
  std::lock_guard const lock(core_->mutex);
  return core_->machine->counters(core_->find(id).number);
}

namespace detail {

struct session_door {
  static session_core& core_of(session& s) { return *s.core_; }
};

program_id load_unverified(session& s, program p) { return session_door::core_of(s).load(std::move(p)); }

} // namespace detail
} // namespace mk
