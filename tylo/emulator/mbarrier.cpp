#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/internal/collective.hpp>
#include <megakernels/tylo/emulator/internal/mbarrier.hpp>
#include <megakernels/tylo/emulator/lane.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tylo::emulator {
namespace {

constexpr std::uint32_t most_arrivals = (1u << 20) - 1;
constexpr std::int64_t most_bytes = (1 << 20) - 1;

/// What stands in the word: the number of the barrier in its CTA.
std::uint64_t number_in(std::size_t offset) {
  std::uint64_t number;
  std::memcpy(&number, the_arena.memory + offset, sizeof number);
  return number;
}

std::string place_of(mbarrier_state const& m, char const* what, site at) {
  return std::string(what) + " at " + text_of(at) + ": mbarrier at " + name_of_address(the_arena.memory + m.offset);
}

/// "64 by bulk_load at kernel.hpp:12, 32 by tensor_load at kernel.hpp:14".
std::string list_of(std::vector<counted_bytes> const& all) {
  std::string text;
  for (auto const& c : all)
    text += (text.empty() ? "" : ", ") + std::to_string(c.bytes) + " by " + c.what + " at " + text_of(c.at);
  return text.empty() ? "none" : text;
}

void count(std::vector<counted_bytes>& all, counted_bytes const& c) {
  auto const same = [&](counted_bytes const& o) { return o.at.line == c.at.line && o.at.file == c.at.file; };
  if (auto const found = std::find_if(all.begin(), all.end(), same); found != all.end())
    found->bytes += c.bytes;
  else
    all.push_back(c);
}

/// All arrivals have come, so that nobody can announce what has come too much.
bool can_never_end(mbarrier_state const& m) { return m.pending == 0 && m.early > 0; }

[[noreturn]] void raise_too_many_bytes(mbarrier_state const& m) {
  launch_now->raise(fault_kind::barrier_count, "mbarrier at " + name_of_address(the_arena.memory + m.offset) + ": " +
                                                   std::to_string(m.early) + " more bytes came in phase " +
                                                   std::to_string(m.phases) +
                                                   " than were announced. Bytes that came: " + list_of(m.brought) +
                                                   "; announced: " + list_of(m.announced));
}

void end_phase_if_complete(mbarrier_state& m) {
  if (m.pending != 0 || m.bytes != 0) return;
  if (m.early != 0) raise_too_many_bytes(m);
  auto& state = *launch_now;
  ++m.phases;
  m.pending = m.expected;
  m.before_last = std::exchange(m.last, state.clocks.value(m.released));
  m.released.clear();
  m.announced.clear();
  m.brought.clear();
  for (auto* const t : m.waiters) state.ready(*t);
  m.waiters.clear();
  state.changed(the_arena.memory + m.offset);
}

void arrive(mbarrier_state& m, char const* what, site at) {
  auto& state = *launch_now;
  if (m.pending == 0)
    state.raise(fault_kind::barrier_count, place_of(m, what, at) + " gets more arrivals in a phase than the " +
                                               std::to_string(m.expected) + " that it was initialised with");
  state.clocks.release(thread_now->clock, m.released);
  --m.pending;
  state.progress();
  end_phase_if_complete(m);
}

/// Whether all that was released into `of` came before what the agent does now.
bool knows_all(agent_clock const& c, clock_ref const& of) {
  auto const& domain = launch_now->clocks;
  if (!of || c.known == of) return true;
  for (std::uint32_t cta = 0; cta < domain.ctas(); ++cta) {
    auto const *const known = c.known.of_cta(cta), *const there = of.of_cta(cta);
    for (std::uint32_t i = 0; known != there && i < domain.agents_per_cta(); ++i)
      if (there[i] > known[i] && agent_of(cta, i) != c.id) return false;
  }
  return true;
}

/// A look of a thread at a barrier, by the parity of a phase.
class look {
public:
  look(mbarrier_state& m, unsigned parity, site at) : m_(m), parity_(parity & 1u), at_(at), seen_(seen_by_caller()) {
    // Only who is told by others needs more than what it has seen itself.
    if (std::int64_t(m.phases) > meant() + 1) learn_from_clock();
  }

  /// Whether the phase has ended, of which the thread then knows. Raises where the parity does not tell.
  bool has_ended(bool again = false) {
    auto& state = *launch_now;
    if (can_never_end(m_)) raise_too_many_bytes(m_);
    if (m_.phases < meant() + 1) return false;
    if (m_.phases > meant() + 1)
      state.raise(fault_kind::phase_aliasing,
                  place_of(m_, "try_wait", at_) + " is asked for " +
                      (meant() < 0 ? "the phase before the first" : "phase " + std::to_string(meant())) +
                      " by parity " + std::to_string(parity_) +
                      (again ? ", and the thread may look again only when " : " when ") + std::to_string(m_.phases) +
                      " phases have ended: a thread must see each of them, at most one behind");
    if (meant() >= 0) state.clocks.acquire(thread_now->clock, m_.last);
    seen_ = m_.phases;
    m_.most_seen = std::max(m_.most_seen, seen_);
    return true;
  }

private:
  std::uint32_t& seen_by_caller() {
    auto const& self = *thread_now;
    m_.seen.resize(self.home->threads.size());
    return m_.seen[self.rank];
  }

  /// The last phase of this parity among those that the thread knows the end of, and the next one.
  [[nodiscard]] std::int64_t meant() const {
    auto const last = std::int64_t(seen_) - 1;
    return (static_cast<unsigned>(last) & 1u) == parity_ ? last : last + 1;
  }

  /// Of phases whose end others have told it of: of older ones than these it makes no difference.
  void learn_from_clock() {
    auto const& clock = thread_now->clock;
    if (!knows_all(clock, m_.before_last)) return;
    seen_ = std::max(seen_, m_.phases - (knows_all(clock, m_.last) ? 0 : 1));
  }

  mbarrier_state& m_;
  unsigned parity_;
  site at_;
  std::uint32_t& seen_;
};

mbarrier_state& own_mbarrier(void const* word, site at) {
  auto& m = known_mbarrier(word, "try_wait", at);
  if (!is_own_shared(word))
    launch_now->raise(fault_kind::misuse,
                      place_of(m, "try_wait", at) + " is of another CTA: only its own threads can wait");
  return m;
}

waiting wait_for(mbarrier_state const& m, unsigned parity, site at) {
  return {.kind = wait_kind::mbarrier, .what = "try_wait", .at = at, .object = &m, .number = parity & 1u};
}

/// A thread that has waited may go on late: others come first.
void wake_late_at_times(site at) {
  constexpr unsigned one_of = 8, longest_ns = 4000;
  auto& state = *launch_now;
  if (state.how.seed == 0 || state.random(one_of) != 0) return;
  thread_now->wait = {.kind = wait_kind::sleep, .what = "try_wait", .at = at};
  state.sleep(1 + state.random(longest_ns));
}

} // namespace

mbarrier_state& mbarrier_at(void const* word, char const* what, site at) {
  auto& state = *launch_now;
  auto const offset = the_arena.offset_of(word);
  auto const refuse = [&](char const* why) {
    state.raise(fault_kind::misuse, std::string(what) + " at " + text_of(at) + ": " + name_of_address(word) + why);
  };
  if (offset >= arena_bytes || offset < global_bytes) refuse(" is not in shared memory");
  auto const first = state.ctas.front().slot;
  auto const slot = (offset - global_bytes) / shared_pitch;
  if (slot < first || (slot - first) / state.shape.cluster != thread_now->home->rank / state.shape.cluster)
    refuse(" is not in shared memory of the cluster");
  if (offset % 8 != 0 || (the_arena.states[offset] & barrier_word) == 0)
    refuse(" holds no mbarrier that was initialised");
  return state.ctas[slot - first].mbarriers[number_in(offset)];
}

void complete_bytes(mbarrier_state& m, counted_bytes const& copy, thread const& issuer, agent_clock const& clock) {
  auto& state = *launch_now;
  state.clocks.add(m.released, clock);
  count(m.brought, copy);
  m.last_copy = copy;
  m.last_copy_phase = m.phases;
  auto const announced = std::min(m.bytes, static_cast<std::int64_t>(copy.bytes));
  m.bytes -= announced;
  m.early += static_cast<std::int64_t>(copy.bytes) - announced;
  if (can_never_end(m) && &issuer != thread_now && !m.waiters.empty()) { // whoever runs now has no part in it
    state.ready(*m.waiters.back());
    m.waiters.pop_back();
    return;
  }
  end_phase_if_complete(m);
}

void init_mbarrier(void* word, unsigned arrivals, site at) {
  inside_emulator const inside;
  auto& state = *launch_now;
  begin_step();
  auto& self = *thread_now;
  auto const offset = the_arena.offset_of(word);
  auto const place = "init at " + text_of(at);
  if (offset_in_shared(word, *self.home) > state.shape.shared_bytes - 8 || offset % 8 != 0)
    state.raise(fault_kind::bounds, place +
                                        ": an mbarrier is 8 bytes at a multiple of 8 in the CTA's shared memory, not " +
                                        name_of_address(word));
  if (arrivals == 0 || arrivals > most_arrivals)
    state.raise(fault_kind::barrier_count,
                place + ": " + std::to_string(arrivals) + " arrivals: 1 to " + std::to_string(most_arrivals));
  if ((the_arena.states[offset] & barrier_word) != 0)
    state.raise(fault_kind::misuse, place + ": " + name_of_address(word) + " is an mbarrier already");
  check_access(word, 8, {.write = true}, {}, at);
  auto const number = static_cast<std::uint64_t>(self.home->mbarriers.size());
  std::memcpy(the_arena.memory + offset, &number, sizeof number);
  for (std::size_t i = 0; i < 8; ++i) the_arena.states[offset + i] |= barrier_word;
  auto& m = self.home->mbarriers.emplace_back();
  m.offset = offset;
  m.expected = m.pending = arrivals;
  m.made = self.clock.id;
  m.made_at = self.clock.now;
}

void publish_mbarriers(site at) {
  inside_emulator const inside;
  if (launch_now->leaves_out("fence", "publish_barriers", at)) return;
  auto const& clock = thread_now->clock;
  for (auto& m : thread_now->home->mbarriers)
    if (m.made == clock.id && m.published_at == 0) {
      m.published_at = clock.now;
      m.published = at;
    }
}

mbarrier_state& known_mbarrier(void const* word, char const* what, site at) {
  auto& state = *launch_now;
  auto& m = mbarrier_at(word, what, at);
  auto const& clock = thread_now->clock;
  if (state.check_races && m.made != clock.id && clock.known[m.made] < m.made_at)
    state.raise(fault_kind::race, place_of(m, what, at) + ": nothing orders it after the initialisation by " +
                                      state.name_of_agent(m.made));
  return m;
}

void arrive_mbarrier(void* word, site at) {
  inside_emulator const inside;
  if (launch_now->leaves_out("arrive", "arrive", at)) return;
  begin_step();
  arrive(known_mbarrier(word, "arrive", at), "arrive", at);
}

void arrive_expecting(void* word, unsigned bytes, site at) {
  inside_emulator const inside;
  auto& state = *launch_now;
  if (launch_now->leaves_out("arrive", "arrive_expecting", at)) return;
  begin_step();
  auto& m = known_mbarrier(word, "arrive_expecting", at);
  count(m.announced, {"arrive_expecting", at, bytes});
  auto const arrived = std::min(m.early, std::int64_t(bytes));
  m.early -= arrived;
  m.bytes += bytes - arrived;
  if (m.bytes > most_bytes)
    state.raise(fault_kind::barrier_count, place_of(m, "arrive_expecting", at) + " is to wait for " +
                                               std::to_string(m.bytes) + " bytes, at most " +
                                               std::to_string(most_bytes));
  arrive(m, "arrive_expecting", at);
}

void arrive_remote(void* word, unsigned rank, site at) {
  auto* const theirs = peer_address(word, rank, at);
  arrive_mbarrier(theirs, at);
}

bool try_wait(void* word, unsigned parity, site at) {
  inside_emulator const inside;
  auto& state = *launch_now;
  if (state.leaves_out("wait", "try_wait", at)) return true;
  yield_at_times(); // it may be polled
  auto& m = own_mbarrier(word, at);
  look here(m, parity, at);
  if (here.has_ended()) return true;
  for (bool waited = false; !waited;) { // the first time it only notes what is polled
    thread_now->wait = wait_for(m, parity, at);
    waited = state.polled(the_arena.memory + m.offset, m.phases, false);
  }
  return here.has_ended(true);
}

void wait(void* word, unsigned parity, site at) {
  inside_emulator const inside;
  auto& state = *launch_now;
  if (state.leaves_out("wait", "try_wait", at)) return;
  begin_step();
  auto& self = *thread_now;
  auto& m = own_mbarrier(word, at);
  look here(m, parity, at);
  if (here.has_ended()) return;
  do {
    self.wait = wait_for(m, parity, at);
    m.waiters.push_back(&self);
    state.block();
    if (!can_never_end(m)) wake_late_at_times(at);
  } while (!here.has_ended(true));
}

} // namespace tylo::emulator
