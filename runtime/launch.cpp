#include <megakernels/runtime/internal/session_core.hpp>
#include <megakernels/runtime/launch.hpp>

#include <utility>

namespace mk {

launch::launch(detail::session_core& core, std::unique_ptr<detail::prepared_launch> prepared, program_id program)
    : core_(&core), prepared_(std::move(prepared)), program_(program) {}

launch::~launch() = default;
launch::launch(launch&&) noexcept = default;
launch& launch::operator=(launch&&) noexcept = default;

void launch::set(step const& s) { prepared_->set(core_->make_job(program_, s)); }

void launch::enqueue(CUstream_st* stream) { prepared_->enqueue(stream); }

void launch::check() { prepared_->check(); }

} // namespace mk
