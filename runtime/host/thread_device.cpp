#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/host/internal/thread_device.hpp>
#include <megakernels/runtime/internal/memory.hpp>

#include <cstring>
#include <system_error>
#include <utility>

namespace mk::detail {

thread_device::thread_device(host_device const& settings) : shared_{.settings = settings, .counter_gates = {}} {
  if (settings.stuck_after < std::chrono::milliseconds(1))
    throw device_error("host device: stuck_after is " + std::to_string(settings.stuck_after.count()) +
                       " ns, at least 1 ms");
}

thread_device::~thread_device() {
  {
    std::unique_lock lock(mutex_);
    cancel_queued("the session was destroyed");
    idle_.wait(lock, [&] { return running_ == nullptr; });
  }
  closing_ = true;
  for (auto const& l : lanes_) give_turn(*l);
  for (auto const& l : lanes_) l->thread.join();
}

std::shared_ptr<std::byte> thread_device::allocate(std::uint64_t bytes) { return zeroed_memory(bytes); }

void thread_device::set_to_zero(std::byte* memory, std::uint64_t bytes) { std::memset(memory, 0, bytes); }

std::shared_ptr<std::byte const> thread_device::place(std::shared_ptr<tensor const> const& value) {
  return {value, value->data()};
}

std::uint32_t thread_device::load(std::shared_ptr<loaded_program const> loaded) {
  auto entry = std::make_unique<host_program>();
  auto const& p = loaded->program;
  std::uint32_t threads = 0;
  for (std::uint32_t w = 0; w < p.workers.size(); ++w) {
    if (p.workers[w].count == 0) continue;
    entry->active.push_back(w);
    threads = w + 1;
  }
  std::uint32_t operands = 0;
  for (auto const& node : p.nodes) {
    entry->first_operand.push_back(operands);
    operands += static_cast<std::uint32_t>(node.operands.size());
  }
  entry->counters.resize(p.counters.size());
  entry->loaded = std::move(loaded);
  entry->set_epoch(shared_.settings.first_epoch - 1);

  std::lock_guard const lock(mutex_);
  programs_.reserve(programs_.size() + 1);
  grow_pool(threads, p.name);
  for (std::uint32_t w = 0; w < threads; ++w) entry->positions.push_back(&lanes_[w]->position);
  programs_.push_back(std::move(entry));
  return static_cast<std::uint32_t>(programs_.size() - 1);
}

void thread_device::grow_pool(std::uint32_t threads, std::string const& program) {
  auto const refuse = [&](std::size_t limit, std::string const& why) {
    throw device_error("program '" + program + "' asks for " + std::to_string(threads) +
                       " workers, the host device has " + std::to_string(limit) + " (" + why + ")");
  };
  if (threads > most_host_workers) refuse(most_host_workers, "its limit");
  lanes_.reserve(threads);
  while (lanes_.size() < threads) {
    auto next = std::make_unique<lane>();
    auto const worker = static_cast<std::uint32_t>(lanes_.size());
    try {
      next->thread = std::thread([this, at = next.get(), worker] { serve(*at, worker); });
    } catch (std::system_error const& e) {
      refuse(lanes_.size(), e.what());
    }
    lanes_.push_back(std::move(next));
  }
}

void thread_device::submit(std::unique_ptr<job> submitted) {
  std::unique_lock lock(mutex_);
  auto& program = *programs_[submitted->program];
  lock.unlock();
  auto run = std::make_unique<host_run>(shared_, program, std::move(submitted));
  lock.lock();
  if (!failure_.empty()) {
    run->submitted().finished->finish(submission_state::cancelled, "cancelled: " + failure_);
    return;
  }
  queue_.push_back(std::move(run));
  if (running_ == nullptr) start_next();
}

void thread_device::serve(lane& self, std::uint32_t worker) noexcept {
  std::uint32_t seen = 0;
  for (;;) {
    self.started.wait([&] { return self.turn.load(std::memory_order_seq_cst) != seen; }, self.before_turn);
    ++seen;
    if (closing_) return;
    auto& run = *current_;
    run.work(worker, self.before_counter);
    if (!run.leave()) continue;
    std::lock_guard const lock(mutex_);
    if (end_run())
      start_run();
    else
      start_next();
  }
}

void thread_device::give_turn(lane& to) {
  to.turn.fetch_add(1, std::memory_order_seq_cst);
  to.started.wake();
}

void thread_device::start_next() {
  while (running_ == nullptr && !queue_.empty()) {
    running_ = std::move(queue_.front());
    queue_.pop_front();
    current_ = running_.get();
    start_run();
  }
  if (running_ == nullptr) idle_.notify_all();
}

void thread_device::start_run() {
  auto& program = running_->program();
  do {
    running_->start(program.epoch + 1);
    // The run may end, and the next one start, only after `mutex_` is free: `program` stays valid.
    for (auto worker : program.active) give_turn(*lanes_[worker]);
  } while (program.active.empty() && end_run());
}

bool thread_device::end_run() {
  auto& run = *running_;
  if (!run.failure().empty()) {
    failure_ = run.failure();
    run.submitted().finished->finish(submission_state::failed, failure_);
    running_ = nullptr;
    cancel_queued(failure_);
    return false;
  }
  run.program().epoch = run.epoch();
  if (run.prepare_next()) return true;
  auto const ended = std::move(running_);
  ended->submitted().finished->finish(submission_state::done);
  return false;
}

void thread_device::cancel_queued(std::string const& reason) {
  for (auto const& run : queue_) run->submitted().finished->finish(submission_state::cancelled, "cancelled: " + reason);
  queue_.clear();
}

void thread_device::wait_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return running_ == nullptr && queue_.empty(); });
}

void thread_device::reset() {
  std::unique_lock lock(mutex_);
  cancel_queued("the session was reset");
  idle_.wait(lock, [&] { return running_ == nullptr && queue_.empty(); });
  failure_.clear();
  for (auto const& program : programs_) program->set_epoch(shared_.settings.first_epoch - 1);
}

std::size_t thread_device::pending() const {
  std::lock_guard const lock(mutex_);
  return queue_.size() + (running_ == nullptr ? 0 : 1);
}

std::string thread_device::failure() const {
  std::lock_guard const lock(mutex_);
  return failure_;
}

std::uint32_t thread_device::epoch(std::uint32_t program) const {
  std::lock_guard const lock(mutex_);
  return programs_[program]->epoch;
}

std::vector<std::uint32_t> thread_device::counters(std::uint32_t program) const {
  std::lock_guard const lock(mutex_);
  std::vector<std::uint32_t> result;
  for (auto& counter : programs_[program]->counters)
    result.push_back(std::atomic_ref(counter).load(std::memory_order_acquire));
  return result;
}

} // namespace mk::detail
