#include <megakernels/runtime/host/internal/host_run.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace mk::detail {

void host_program::set_epoch(std::uint32_t last) {
  epoch = last;
  for (std::size_t c = 0; c < counters.size(); ++c)
    std::atomic_ref(counters[c]).store(loaded->program.counters[c] * last, std::memory_order_relaxed);
}

host_run::host_run(host_shared& shared, host_program& program, std::unique_ptr<job> submitted)
    : shared_(shared), program_(program), job_(std::move(submitted)),
      remaining_(static_cast<std::uint32_t>(program.active.size())) {
  for (auto const& node : plan().nodes)
    for (auto operand : node.operands)
      views_.push_back(view_of_tensor(plan(), operand, job_->addresses.data(), job_->live.data()));
}

void host_run::start(std::uint32_t epoch) noexcept {
  epoch_ = epoch;
  remaining_.store(static_cast<std::uint32_t>(program_.active.size()), std::memory_order_relaxed);
  for (auto worker : program_.active)
    program_.positions[worker]->store(worker_position::pack(worker_position::running), std::memory_order_seq_cst);
}

bool host_run::prepare_next() noexcept {
  for (auto const& feed : job_->feeds) {
    auto* const to = reinterpret_cast<std::int32_t*>(job_->addresses[feed.to]);
    auto const* const from = feed.from ? reinterpret_cast<std::int32_t const*>(job_->addresses[*feed.from]) : nullptr;
    auto* const history = reinterpret_cast<std::int32_t*>(feed.history.data);
    for (std::uint32_t i = 0; i < feed.count; ++i) {
      to[i] = from != nullptr ? from[i]
                              : static_cast<std::int32_t>(static_cast<std::uint32_t>(to[i]) +
                                                          static_cast<std::uint32_t>(feed.increment));
      if (history != nullptr) history[std::size_t(runs_) * feed.count + i] = to[i];
    }
  }
  return ++runs_ < job_->steps;
}

void host_run::work(std::uint32_t worker, spinner& before) noexcept {
  auto const [first, count] = plan().workers[worker];
  auto index = first;
  try {
    for (; index < first + count && !stopped_.load(std::memory_order_relaxed); ++index) {
      auto const& record = plan().records[index];
      bool ready = true;
      for (std::uint32_t i = 0; ready && i < record.wait_count; ++i) ready = await(worker, index, i, before);
      if (!ready) break;
      execute(record);
      if (loses_signals(index)) continue;
      for (auto counter : signals_of(plan(), record)) signal(counter);
    }
  } catch (std::exception const& e) {
    fail(describe(plan().records[index]) + ": " + e.what());
  } catch (...) {
    fail(describe(plan().records[index]) + ": an exception that is no std::exception");
  }
  program_.positions[worker]->store(worker_position::pack(worker_position::finished, index), std::memory_order_seq_cst);
}

void host_run::execute(record const& r) const {
  auto const& node = plan().nodes[r.node];
  auto const& work = program_.loaded->work[r.node];
  auto t = task_of(node, work, r);
  if (work.rows.is_live()) t.row_end = std::min(t.row_end, job_->live[static_cast<std::size_t>(work.rows.live)]);
  if (t.row_begin >= t.row_end || t.column_begin >= t.column_end) return;
  auto const operands = std::span(views_).subspan(program_.first_operand[r.node], node.operands.size());
  program_.loaded->operations[r.node]->run(node.arguments.data(), operands, t);
}

void host_run::signal(std::uint32_t counter) {
  auto const before = std::atomic_ref(program_.counters[counter]).fetch_add(1, std::memory_order_seq_cst);
  if (before + 1 == needed(counter)) gate_of(counter).wake();
}

bool host_run::await(std::uint32_t worker, std::uint32_t index, std::uint32_t wait, spinner& before) {
  auto const counter = waits_of(plan(), plan().records[index])[wait];
  auto const ready = [&] { return reached(counter) || stopped_.load(std::memory_order_seq_cst); };
  if (!before.spin(ready)) {
    auto& position = *program_.positions[worker];
    position.store(worker_position::pack(worker_position::waiting, index, wait), std::memory_order_seq_cst);
    sleep(gate_of(counter), ready);
    position.store(worker_position::pack(worker_position::running), std::memory_order_seq_cst);
  }
  return !stopped_.load(std::memory_order_relaxed);
}

bool host_run::loses_signals(std::uint32_t index) {
  return shared_.settings.drop_signal == index && !shared_.signal_dropped.exchange(true);
}

void host_run::fail(std::string reason) {
  {
    std::lock_guard const lock(failure_mutex_);
    if (!failure_.empty()) return;
    failure_ = std::move(reason);
  }
  stopped_.store(true, std::memory_order_seq_cst);
  for (auto const& g : shared_.counter_gates) g.wake();
}

std::string host_run::describe(record const& r) const {
  return "program '" + plan().name + "', node '" + plan().nodes[r.node].name + "' (" +
         std::string(program_.loaded->operations[r.node]->name) + ")";
}

} // namespace mk::detail
