#include <megakernels/runtime/host/internal/host_run.hpp>

#include <algorithm>
#include <sstream>

namespace mk::detail {

void host_run::sleep(gate const& at, std::function<bool()> const& ready) {
  using namespace std::chrono;
  auto const bound = shared_.settings.stuck_after;
  auto const look_every = std::clamp<nanoseconds>(bound / 8, 1ms, 100ms);
  std::optional<std::uint64_t> mark;
  auto since = steady_clock::now();
  while (!at.sleep_for(ready, look_every)) {
    auto const now = steady_clock::now();
    auto const current = standstill();
    if (!current || current != mark) {
      mark = current;
      since = now;
    } else if (now - since >= bound) {
      fail(stuck_report());
    }
  }
}

std::uint32_t host_run::awaited_counter(std::uint64_t position) const {
  return waits_of(plan(), plan().records[worker_position::record_of(position)])[worker_position::wait_of(position)];
}

std::optional<std::uint64_t> host_run::standstill() const {
  std::uint64_t sum = 0;
  for (auto worker : program_.active) {
    auto const position = program_.positions[worker]->load(std::memory_order_seq_cst);
    auto const phase = worker_position::phase_of(position);
    // A worker that waits for a counter that is there has only not been given a core yet.
    if (phase == worker_position::running) return std::nullopt;
    if (phase == worker_position::waiting && reached(awaited_counter(position))) return std::nullopt;
    sum += position;
  }
  return sum;
}

std::string host_run::stuck_report() const {
  auto const bound = std::chrono::duration_cast<std::chrono::milliseconds>(shared_.settings.stuck_after).count();
  std::ostringstream text;
  text << "program '" << plan().name << "', submission " << epoch_ << ": stuck, no worker has moved for " << bound
       << " ms. Waiting:";
  for (auto worker : program_.active) {
    auto const position = program_.positions[worker]->load(std::memory_order_seq_cst);
    if (worker_position::phase_of(position) != worker_position::waiting) continue;
    auto const record = worker_position::record_of(position);
    auto const counter = awaited_counter(position);
    auto const node = plan().records[record].node;
    text << "\n  worker " << worker << ", record " << record << ", node '" << plan().nodes[node].name << "' ("
         << program_.loaded->operations[node]->name << "): counter " << counter << " is " << seen(counter) << ", needs "
         << needed(counter);
  }
  return text.str();
}

} // namespace mk::detail
