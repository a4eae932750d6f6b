#pragma once

/// Runs the records of a program one at a time, on memory between guard zones.

#include <megakernels/ops/operation_list.hpp>

#include "random_graph.hpp"

#include <algorithm>

namespace mk::kit {

/// The buffers of a program, each between two zones of known bytes. All else is FF at first.
class program_memory {
public:
  explicit program_memory(program const& p) {
    for (auto const& b : p.buffers) {
      auto& bytes = memory_[b.name];
      bytes.assign(guard + static_cast<std::size_t>(b.bytes) + guard, std::byte{0xFF});
      std::fill_n(bytes.begin(), guard, pattern);
      std::fill_n(bytes.end() - guard, guard, pattern);
      addresses_.push_back(bytes.data() + guard);
    }
  }

  std::vector<std::byte*> const& addresses() const { return addresses_; }
  std::span<std::byte> buffer(std::string const& name) {
    auto& bytes = memory_.at(name);
    return std::span(bytes).subspan(guard, bytes.size() - 2 * guard);
  }
  bool guards_intact() const {
    return std::all_of(memory_.begin(), memory_.end(), [](auto const& entry) {
      auto const& bytes = entry.second;
      auto const same = [](std::byte b) { return b == pattern; };
      return std::all_of(bytes.begin(), bytes.begin() + guard, same) &&
             std::all_of(bytes.end() - guard, bytes.end(), same);
    });
  }

private:
  static constexpr std::ptrdiff_t guard = 64;
  static constexpr auto pattern = std::byte{0xA5};
  std::map<std::string, std::vector<std::byte>> memory_;
  std::vector<std::byte*> addresses_; // of each buffer
};

/// Runs a verified program. Of the workers that need not wait, a random one goes on, so that different seeds give
/// different orders. False where none can go on.
class record_runner {
public:
  record_runner(program const& p, operation_table const& table, std::vector<std::byte*> const& addresses,
                std::vector<std::int64_t> const& live, std::uint64_t seed)
      : p_(p), table_(table), addresses_(addresses), live_(live), r_(seed), counters_(p.counters.size()),
        done_(p.workers.size()) {}

  bool run() {
    std::vector<std::size_t> going;
    for (std::size_t w = 0; w < p_.workers.size(); ++w)
      if (p_.workers[w].count > 0) going.push_back(w);
    while (!going.empty()) {
      auto const start = r_.index(going.size());
      std::size_t tried = 0;
      while (tried < going.size() && !ready(going[(start + tried) % going.size()])) ++tried;
      if (tried == going.size()) return false;
      auto const at = (start + tried) % going.size();
      run_next(going[at]);
      if (done_[going[at]] == p_.workers[going[at]].count) going.erase(going.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return true;
  }

private:
  record const& next_of(std::size_t worker) const { return p_.records[p_.workers[worker].first + done_[worker]]; }

  bool ready(std::size_t worker) const {
    auto const waits = waits_of(p_, next_of(worker));
    return std::all_of(waits.begin(), waits.end(), [&](auto c) { return counters_[c] == p_.counters[c]; });
  }

  void run_next(std::size_t worker) {
    auto const& r = next_of(worker);
    auto const& node = p_.nodes[r.node];
    auto const& op = table_.operations[node.operation];
    auto const work = op.work(node.arguments.data(), operands_of(p_, node));
    auto t = task_of(node, work, r);
    if (work.rows.is_live()) t.row_end = std::min(t.row_end, live_[static_cast<std::size_t>(work.rows.live)]);
    if (t.row_begin < t.row_end) {
      std::vector<tensor_view> views;
      for (auto operand : node.operands) views.push_back(view(operand));
      op.run(node.arguments.data(), views, t);
    }
    ++done_[worker];
    for (auto c : signals_of(p_, r)) ++counters_[c];
  }

  tensor_view view(std::int32_t operand) const {
    if (operand < 0) return {};
    auto const& t = p_.tensors[static_cast<std::size_t>(operand)];
    return view_of(t.desc, addresses_[t.buffer] + t.offset, live_.data());
  }

  program const& p_;
  operation_table const& table_;
  std::vector<std::byte*> const& addresses_;
  std::vector<std::int64_t> const& live_;
  random r_;
  std::vector<std::uint32_t> counters_;
  std::vector<std::uint32_t> done_; // records of each worker
};

} // namespace mk::kit
