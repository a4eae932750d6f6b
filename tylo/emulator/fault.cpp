/// What reports call things, and how a launch ends with one.

#include <megakernels/tylo/emulator/fault.hpp>
#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/internal/grid.hpp>

#include <cstdio>
#include <string_view>

namespace tylo::emulator {

std::string_view name_of(fault_kind kind) noexcept {
  switch (kind) {
  case fault_kind::deadlock:
    return "deadlock";
  case fault_kind::livelock:
    return "livelock";
  case fault_kind::divergence:
    return "divergence";
  case fault_kind::barrier_count:
    return "barrier count";
  case fault_kind::phase_aliasing:
    return "phase aliasing";
  case fault_kind::bounds:
    return "out of bounds";
  case fault_kind::alignment:
    return "misaligned";
  case fault_kind::unwritten:
    return "read of unwritten memory";
  case fault_kind::constant:
    return "write to constant memory";
  case fault_kind::race:
    return "race";
  case fault_kind::in_flight:
    return "memory in flight";
  case fault_kind::proxy:
    return "missing proxy fence";
  case fault_kind::products:
    return "warpgroup products";
  case fault_kind::descriptor:
    return "descriptor";
  case fault_kind::exit:
    return "early exit";
  case fault_kind::unannounced:
    return "unannounced access";
  case fault_kind::misuse:
    return "misuse";
  }
  return "fault";
}

std::string text_of(site at) {
  std::string_view file(at.file);
  auto cut = file.rfind('/');
  if (cut != file.npos && cut > 0) cut = file.rfind('/', cut - 1);
  if (cut != file.npos) file.remove_prefix(cut + 1);
  return std::string(file) + ":" + std::to_string(at.line) +
         (at.step != 0 ? " (step " + std::to_string(at.step) + ")" : "");
}

std::string name_of_thread(thread const& t) {
  return "CTA " + std::to_string(t.home->rank) + ", thread " + std::to_string(t.rank) + " (warp " +
         std::to_string(t.team->rank) + ", lane " + std::to_string(t.lane()) + ")";
}

std::string name_of_address(void const* address) {
  auto const offset = the_arena.offset_of(address);
  if (offset >= arena_bytes) return "address " + std::to_string(reinterpret_cast<std::uintptr_t>(address));
  if (offset < global_bytes) return describe_global(offset);
  auto const slot = (offset - global_bytes) / shared_pitch;
  auto const byte = (offset - global_bytes) % shared_pitch;
  auto const& state = *launch_now;
  auto const first = state.ctas.front().slot;
  if (slot < first || slot >= first + state.shape.ctas) return "shared memory of no CTA";
  return "byte " + std::to_string(byte) + " of the " + std::to_string(state.shape.shared_bytes) +
         " bytes of shared memory of CTA " + std::to_string(slot - first) +
         (state.ctas[slot - first].live == 0 ? " (which has ended)" : "");
}

namespace {

std::string describe(waiting const& w, thread const& t) {
  if (w.kind == wait_kind::ended) return "have ended";
  auto const place = std::string(w.what) + " at " + text_of(w.at);
  switch (w.kind) {
  case wait_kind::warp: {
    char lanes[16];
    std::snprintf(lanes, sizeof lanes, "%08x", t.team->arrived);
    return place + ": lanes " + lanes + " have arrived";
  }
  case wait_kind::barrier: {
    auto const& b = t.home->barriers[w.number];
    return place + ": barrier " + std::to_string(w.number) + ", " + std::to_string(b.arrived) + " of " +
           std::to_string(b.expected) + " threads have arrived";
  }
  case wait_kind::cluster:
    return place + ": not all threads of the cluster have arrived";
  case wait_kind::mbarrier: {
    auto const& m = *static_cast<mbarrier_state const*>(w.object);
    return place + ": mbarrier at " + name_of_address(the_arena.memory + m.offset) + ", parity " +
           std::to_string(w.number) + ", " + std::to_string(m.phases) + " phases have ended, " +
           std::to_string(m.pending) + " of " + std::to_string(m.expected) + " arrivals and " +
           std::to_string(m.bytes) + " bytes are missing";
  }
  case wait_kind::poll: {
    auto const& p = t.polled.back();
    return place + ": polls " + name_of_address(p.address) + ", which is " + std::to_string(p.value);
  }
  default:
    return place;
  }
}

} // namespace

/// A line for each run of threads of a CTA that wait alike.
std::string launch_state::who_waits() const {
  constexpr int most_lines = 24;
  std::string text;
  int lines = 0;
  for (auto const& c : ctas)
    for (std::size_t i = 0; i < c.threads.size();) {
      auto const& t = *c.threads[i];
      auto const begin = i;
      auto const same = [&](thread const& other) {
        auto const &a = t.wait, &b = other.wait;
        return a.kind == b.kind && a.at.line == b.at.line && a.object == b.object && a.number == b.number &&
               (a.kind != wait_kind::warp || t.team == other.team);
      };
      while (i < c.threads.size() && same(*c.threads[i])) ++i;
      if (t.wait.kind == wait_kind::ended && c.live == 0) continue;
      if (++lines > most_lines) continue;
      text += "\n  CTA " + std::to_string(c.rank) + ", thread" +
              (i - begin > 1 ? "s " + std::to_string(begin) + " to " + std::to_string(i - 1)
                             : " " + std::to_string(begin)) +
              ": " + describe(t.wait, t);
    }
  if (lines > most_lines) text += "\n  and " + std::to_string(lines - most_lines) + " more";
  return text;
}

std::string launch_state::name_of_agent(agent_id id) const {
  auto const c = cta_of(id), index = index_of(id);
  if (index < shape.threads) return name_of_thread(*ctas[c].threads[index]);
  auto const& work = work_[std::size_t(c) * engines + (index - shape.threads)];
  return std::string(work.what) + " from " + text_of(work.at) + " of CTA " + std::to_string(c);
}

void launch_state::raise(fault_kind kind, std::string const& text) {
  faulted_ = true;
  fault_kind_ = kind;
  fault_text_ = std::string(name_of(kind)) + ": " + text;
  if (thread_now != nullptr && kind != fault_kind::deadlock && kind != fault_kind::livelock) {
    auto const place = emulator::describe(call_chain());
    fault_text_ += "\n  seen by " + name_of_thread(*thread_now) + (place.empty() ? " at its end" : " at " + place);
  }
  if (how.seed != 0) fault_text_ += "\n  with seed " + std::to_string(how.seed);
  auto* const self = thread_now;
  switch_to(self->context, main_);
  __builtin_unreachable();
}

} // namespace tylo::emulator
