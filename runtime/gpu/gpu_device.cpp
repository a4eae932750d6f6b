#include <megakernels/runtime/gpu/internal/gpu_device.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace mk::gpu {
namespace {

constexpr std::uint32_t slot_count = 8;
constexpr std::uint64_t least_slot_bytes = std::uint64_t(64) << 10;

} // namespace

gpu_device::gpu_device(settings const& s, std::unique_ptr<driver> on)
    : settings_(s), on_(std::move(on)), copies_(on_->memory()),
      pool_(std::make_shared<memory_pool>(copies_, s.reserved_bytes,
                                          [this] {
                                            std::lock_guard const lock(mutex_);
                                            stop_kernel();
                                          })),
      one_by_one_(s.mode == run_mode::launch && !on_->queues_launches()) {
  if (s.stuck_after < std::chrono::milliseconds(1))
    throw device_error(on_->name() + ": stuck_after is " + std::to_string(s.stuck_after.count()) +
                       " ns, at least 1 ms");
  if (s.idle_after < s.idle_after.zero())
    throw device_error(on_->name() + ": idle_after is " + std::to_string(s.idle_after.count()) + " ns, at least 0");
  words_.emplace(on_->workers(), pool_, copies_);
  driver_ = std::thread([this] { drive(); });
}

gpu_device::~gpu_device() {
  {
    std::lock_guard const lock(mutex_);
    closing_ = true;
    for (auto const& job : queue_)
      job->finished->finish(submission_state::cancelled, "cancelled: the session was destroyed");
    queue_.clear();
  }
  changed_.notify_all();
  driver_.join();
  guard([&] { stop_kernel(); });
}

/// Runs what may fail where nothing may be thrown: a failure is kept for later calls.
template <class Body> void gpu_device::guard(Body const& body) {
  try {
    body();
  } catch (std::exception const& e) {
    if (failure_.empty()) failure_ = e.what();
  }
}

std::shared_ptr<std::byte> gpu_device::allocate(std::uint64_t bytes) {
  auto memory = memory_pool::take(pool_, bytes);
  copies_.zero(memory.get(), bytes);
  return memory;
}

void gpu_device::set_to_zero(std::byte* memory, std::uint64_t bytes) { copies_.zero(memory, bytes); }

std::shared_ptr<std::byte const> gpu_device::place(std::shared_ptr<tensor const> const& value) {
  auto memory = memory_pool::take(pool_, value->size_bytes());
  copies_.to_device(memory.get(), value->data(), value->size_bytes());
  copies_.hold_constant(memory.get(), value->size_bytes());
  return memory;
}

std::uint32_t gpu_device::load(std::shared_ptr<detail::loaded_program const> loaded) {
  auto const& p = loaded->program;
  if (p.list_hash != settings_.kernel->operations.hash)
    throw device_error("program '" + p.name + "' was made for another operation list than kernel '" +
                       std::string(settings_.kernel->name) + "' holds");
  if (p.workers.size() > on_->workers())
    throw device_error("program '" + p.name + "' asks for " + std::to_string(p.workers.size()) + " workers, the " +
                       on_->name() + " has " + std::to_string(on_->workers()) +
                       " that can be resident at the same time");
  auto const bytes = slot_bytes_for(p, p.buffers.size());
  auto image = std::make_unique<resident_image>(std::move(loaded), pool_, copies_, settings_.first_epoch - 1);
  std::unique_lock lock(mutex_);
  if (bytes > slot_bytes_) {
    changed_.wait(lock, [&] { return queue_.empty() && flights_.empty(); });
    stop_kernel();
    auto const size = std::max(least_slot_bytes, (bytes + 4095) / 4096 * 4096);
    pinned_memory host(copies_, slot_count * size);
    auto slots = memory_pool::take(pool_, slot_count * size);
    host_slots_ = std::move(host);
    slots_ = std::move(slots);
    slot_bytes_ = size;
  }
  programs_.push_back(std::move(image));
  return static_cast<std::uint32_t>(programs_.size() - 1);
}

void gpu_device::submit(std::unique_ptr<detail::job> submitted) {
  {
    std::lock_guard const lock(mutex_);
    if (!failure_.empty()) {
      submitted->finished->finish(submission_state::cancelled, "cancelled: " + failure_);
      return;
    }
    queue_.push_back(std::move(submitted));
  }
  changed_.notify_all();
}

void gpu_device::drive() noexcept {
  on_->begin_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !queue_.empty() || !flights_.empty(); });
    if (closing_ && flights_.empty()) return;
    try {
      while (!queue_.empty() && flights_.size() < (one_by_one_ ? 1 : slot_count)) {
        auto next = std::move(queue_.front());
        queue_.pop_front();
        issue(std::move(next));
      }
      if (!flights_.empty() && front_is_done()) finish_front();
    } catch (std::exception const& e) {
      fail(e.what());
    }
    // Others may submit, load and look while the driver polls.
    lock.unlock();
    on_->rest();
    lock.lock();
  }
}

void gpu_device::issue(std::unique_ptr<detail::job> submitted) {
  auto const& image = *programs_[submitted->program];
  auto const finished = submitted->finished;
  try {
    flights_.push_back({staged_job(std::move(submitted), image, pool_, copies_), issued_});
  } catch (std::bad_alloc const&) { // nothing has been given to the kernel: this submission fails alone
    finished->finish(submission_state::failed, "the GPU has no memory left for what the submission binds");
    changed_.notify_all();
    return;
  } catch (std::exception const& e) {
    finished->finish(submission_state::failed, e.what());
    throw;
  }
  if (flights_.size() == 1) flights_.front().job.discard_workspace(copies_);
  auto const number = issued_++;
  auto const at = (number % slot_count) * slot_bytes_;
  flights_.back().job.write_slot(host_slots_.host() + at, slots_.get() + at, number);
  if (settings_.mode == run_mode::launch) {
    on_->copy_slot(slots_.get() + at, host_slots_.host() + at, slot_bytes_);
    start_kernel(number);
    return;
  }
  words_->ring(issued_);
  on_->notify();
  if (!running_) start_kernel(flights_.front().number);
}

void gpu_device::start_kernel(std::uint32_t first_submission) {
  bool const resident = settings_.mode == run_mode::resident;
  if (resident) words_->clear_exit(copies_);
  auto a = words_->arguments(settings_);
  a.host_slots = host_slots_.device<std::byte>();
  a.slots = slots_.get();
  a.slot_bytes = static_cast<std::uint32_t>(slot_bytes_);
  a.slot_count = slot_count;
  a.first_submission = first_submission;
  a.mode = resident ? mk::device::kernel_mode::resident : mk::device::kernel_mode::launch;
  on_->start(a);
  running_ = true;
  ++starts_;
}

/// Ends a resident kernel after what it has been given, and waits for that.
void gpu_device::stop_kernel() {
  if (!running_) return;
  words_->request_exit();
  on_->notify();
  on_->synchronize();
  running_ = false;
}

bool gpu_device::front_is_done() {
  auto const& front = flights_.front();
  auto const done = [&] { // a completion that follows from an abort is seen after the abort
    return static_cast<std::int32_t>(words_->completed() - front.number) > 0 && !words_->aborted();
  };
  if (done() && !one_by_one_) return true;
  if (words_->aborted()) { // tasks then pass without their waits: what goes wrong with those comes of it
    on_->settle();
    running_ = false;
    throw device_error(words_->stuck_report(programs_[front.job.submitted().program]->program(), settings_));
  }
  if (!running_ || !kernel_has_ended()) return false;
  running_ = false;
  if (done()) return true;
  if (words_->aborted()) return false; // the next look reports it
  if (settings_.mode == run_mode::launch) throw device_error(on_->name() + ": a kernel ended without its submission");
  start_kernel(front.number); // it had retired just before the doorbell
  return false;
}

bool gpu_device::kernel_has_ended() {
  try {
    return on_->has_ended();
  } catch (device_error const& e) {
    if (!on_->keeps_memory_of_failed_kernels() || settings_.mode != run_mode::launch) throw;
    throw device_error(
        e.what() +
        words_->report_of_tasks(programs_[flights_.front().job.submitted().program]->program(), settings_, copies_));
  }
}

void gpu_device::finish_front() {
  auto const& job = flights_.front().job;
  job.fetch_outputs(copies_);
  auto const finished = job.submitted().finished;
  flights_.pop_front();
  finished->finish(submission_state::done);
  changed_.notify_all();
}

void gpu_device::fail(std::string reason) {
  failure_ = std::move(reason);
  words_->request_exit();
  on_->notify();
  on_->settle();
  running_ = false;
  bool first = true;
  for (auto const& f : flights_) {
    f.job.submitted().finished->finish(first ? submission_state::failed : submission_state::cancelled,
                                       first ? failure_ : "cancelled: " + failure_);
    first = false;
  }
  flights_.clear();
  for (auto const& job : queue_) job->finished->finish(submission_state::cancelled, "cancelled: " + failure_);
  queue_.clear();
  changed_.notify_all();
}

std::unique_ptr<detail::prepared_launch> gpu_device::prepare(std::uint32_t program) {
  std::lock_guard const lock(mutex_);
  return on_->prepare(*programs_[program], pool_);
}

void gpu_device::wait_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && flights_.empty(); });
}

void gpu_device::reset() {
  std::unique_lock lock(mutex_);
  for (auto const& job : queue_) job->finished->finish(submission_state::cancelled, "cancelled: the session was reset");
  queue_.clear();
  changed_.notify_all();
  changed_.wait(lock, [&] { return flights_.empty(); });
  stop_kernel();
  failure_.clear();
  words_->reset(copies_);
  issued_ = 0;
  for (auto const& p : programs_) p->set_epoch(copies_, settings_.first_epoch - 1);
}

std::size_t gpu_device::pending() const {
  std::lock_guard const lock(mutex_);
  return queue_.size() + flights_.size();
}

std::string gpu_device::failure() const {
  std::lock_guard const lock(mutex_);
  return failure_;
}

std::uint32_t gpu_device::epoch(std::uint32_t program) const {
  std::lock_guard const lock(mutex_);
  return programs_[program]->epoch(copies_);
}

std::vector<std::uint32_t> gpu_device::counters(std::uint32_t program) const {
  std::lock_guard const lock(mutex_);
  return programs_[program]->counters(copies_);
}

} // namespace mk::gpu
