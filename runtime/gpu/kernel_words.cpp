#include <megakernels/runtime/gpu/internal/kernel_words.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <vector>

namespace mk::gpu {
namespace {

std::atomic_ref<std::uint32_t> word(device::shared_word& of) { return std::atomic_ref(of.value); }

std::uint64_t nanoseconds(std::chrono::nanoseconds t) { return static_cast<std::uint64_t>(t.count()); }

} // namespace

kernel_words::kernel_words(std::uint32_t workers, std::shared_ptr<memory_pool> const& pool, gpu_memory& copies)
    : workers_(workers), mail_(copies, sizeof(device::mailbox)),
      reports_(copies, workers * sizeof(device::wait_report)),
      words_(memory_pool::take(pool, sizeof(device::kernel_state) + workers * sizeof(device::shared_word))) {
  reset(copies);
}

void kernel_words::reset(gpu_memory& copies) {
  copies.zero(words_.get(), sizeof(device::kernel_state) + workers_ * sizeof(device::shared_word));
  std::memset(mail_.host(), 0, sizeof(device::mailbox));
  std::memset(reports_.host(), 0, workers_ * sizeof(device::wait_report));
}

void kernel_words::clear_exit(gpu_memory& copies) {
  auto* const mail = mail_.host<device::mailbox>();
  word(mail->exited).store(0, std::memory_order_relaxed);
  word(mail->exit_request).store(0, std::memory_order_relaxed);
  copies.zero(words_.get() + offsetof(device::kernel_state, exit), sizeof(device::shared_word));
}

device::kernel_arguments kernel_words::arguments(gpu::settings const& settings) const {
  auto* const state = reinterpret_cast<device::kernel_state*>(words_.get());
  device::kernel_arguments a{};
  a.state = state;
  a.mail = mail_.device<device::mailbox>();
  a.reports = reports_.device<device::wait_report>();
  a.progress = reinterpret_cast<device::shared_word*>(state + 1);
  a.wait_ns = nanoseconds(settings.stuck_after);
  a.idle_ns = nanoseconds(settings.idle_after);
  a.drop_signal = settings.drop_signal.value_or(UINT32_MAX);
  return a;
}

void kernel_words::ring(std::uint32_t submissions) const {
  word(mail_.host<device::mailbox>()->doorbell).store(submissions, std::memory_order_release);
}

void kernel_words::request_exit() const {
  word(mail_.host<device::mailbox>()->exit_request).store(1, std::memory_order_release);
}

std::uint32_t kernel_words::completed() const {
  return word(mail_.host<device::mailbox>()->completed).load(std::memory_order_acquire);
}

bool kernel_words::aborted() const {
  return word(mail_.host<device::mailbox>()->aborted).load(std::memory_order_acquire) != 0;
}

std::string kernel_words::stuck_report(program const& p, gpu::settings const& settings) const {
  auto const* const reports = reports_.host<device::wait_report>();
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(settings.stuck_after).count();
  auto text = "program '" + p.name + "' is stuck: no task has ended for " + std::to_string(ms) + " ms";
  for (std::uint32_t w = 0; w < workers_; ++w) {
    auto const& r = reports[w];
    if (r.valid == 0 || r.record >= p.records.size()) continue;
    auto const& node = p.nodes[p.records[r.record].node];
    text += "; worker " + std::to_string(w) + ", record " + std::to_string(r.record) + ", node '" + node.name + "' (" +
            std::string(settings.kernel->operations.operations[node.operation].name) + ") waits for counter " +
            std::to_string(r.counter) + ": seen " + std::to_string(r.seen) + ", needed " + std::to_string(r.needed);
  }
  return text;
}

std::string kernel_words::report_of_tasks(program const& p, gpu::settings const& settings, gpu_memory& copies) const {
  std::vector<device::shared_word> done(workers_);
  copies.to_host(reinterpret_cast<std::byte*>(done.data()), words_.get() + sizeof(device::kernel_state),
                 done.size() * sizeof(device::shared_word));
  std::map<std::uint32_t, std::string> at; ///< node, and its workers
  for (std::uint32_t w = 0; w < std::min<std::size_t>(workers_, p.workers.size()); ++w) {
    auto const& worker = p.workers[w];
    auto const place = done[w].value % (worker.count + 1); // the end of each step counts as a task
    if (place == worker.count) continue;
    auto& workers = at[p.records[worker.first + place].node];
    workers += (workers.empty() ? "" : ", ") + std::to_string(w);
  }
  std::string text;
  for (auto const& [n, workers] : at) {
    auto const& node = p.nodes[n];
    text += "\n  consumers at node '" + node.name + "' (" +
            std::string(settings.kernel->operations.operations[node.operation].name) + "): of CTAs " + workers;
  }
  return text;
}

} // namespace mk::gpu
