#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/internal/collective.hpp>
#include <megakernels/tylo/emulator/internal/mbarrier.hpp>
#include <megakernels/tylo/emulator/lane.hpp>

#include <algorithm>
#include <cstring>

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

void end_phase_if_complete(mbarrier_state& m) {
  if (m.pending != 0 || m.bytes != 0) return;
  auto& state = *launch_now;
  ++m.phases;
  m.pending = m.expected;
  m.last = state.clocks.value(m.released);
  m.released.clear();
  for (auto* const t : m.waiters) {
    state.clocks.acquire(t->clock, m.last);
    state.ready(*t);
  }
  m.waiters.clear();
}

std::string place_of(mbarrier_state const& m, char const* what, site at) {
  return std::string(what) + " at " + text_of(at) + ": mbarrier at " + name_of_address(the_arena.memory + m.offset);
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

void complete_bytes(mbarrier_state& m, std::uint32_t bytes, agent_clock const& clock) {
  auto& state = *launch_now;
  state.clocks.add(m.released, clock);
  m.bytes -= bytes;
  if (m.pending == 0 && m.bytes < 0)
    state.raise(fault_kind::barrier_count, "mbarrier at " + name_of_address(the_arena.memory + m.offset) + ": " +
                                               std::to_string(-m.bytes) + " bytes arrive that no one has announced");
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
  thread_now->published = true;
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
  m.bytes += bytes;
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
  if (launch_now->leaves_out("wait", "try_wait", at)) return true;
  begin_step();
  auto& self = *thread_now;
  auto& m = known_mbarrier(word, "try_wait", at);
  if (!is_own_shared(word))
    state.raise(fault_kind::misuse, place_of(m, "try_wait", at) + " is of another CTA: only its own threads can wait");
  // The phase that the thread means: the one of this parity that it waited for last, or the next one.
  constexpr std::int32_t none = -2;
  m.meant.resize(self.home->threads.size(), none);
  auto& meant = m.meant[self.rank];
  parity &= 1u;
  if (meant == none)
    meant = parity == 1 ? -1 : 0;
  else if ((static_cast<unsigned>(meant) & 1u) != parity)
    ++meant;
  auto const ended = static_cast<std::int32_t>(m.phases);
  if (ended > meant + 1)
    state.raise(fault_kind::phase_aliasing,
                place_of(m, "try_wait", at) + " is asked for phase " + std::to_string(meant) + " by parity " +
                    std::to_string(parity) + " when " + std::to_string(ended) +
                    " phases have ended: a thread must see each of them, at most one behind");
  if (ended == meant + 1) {
    if (meant >= 0) state.clocks.acquire(self.clock, m.last);
    return true;
  }
  self.wait = {.kind = wait_kind::mbarrier, .what = "try_wait", .at = at, .object = &m, .number = parity};
  m.waiters.push_back(&self);
  state.block();
  return true;
}

} // namespace tylo::emulator
