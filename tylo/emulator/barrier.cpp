#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/internal/collective.hpp>
#include <megakernels/tylo/emulator/internal/mbarrier.hpp>
#include <megakernels/tylo/emulator/lane.hpp>

#include <algorithm>
#include <bit>
#include <string_view>

namespace tylo::emulator {
namespace {

/// The last one to arrive lets all go on, each ordered after what all did.
void end_meeting(meeting& m, bool self_waits) {
  auto& state = *launch_now;
  auto const together = state.clocks.value(m.released);
  if (self_waits) state.clocks.acquire(thread_now->clock, together);
  for (auto* const t : m.waiters) {
    state.clocks.acquire(t->clock, together);
    state.ready(*t);
  }
  m.waiters.clear();
  m.released.clear();
  m.arrived = 0;
  m.expected = 0;
  m.met = true;
  std::fill(m.warps.begin(), m.warps.end(), meeting::warp_arrival{});
}

/// Of a barrier that is complete, though not with whole warps.
std::string who_arrived(meeting const& m) {
  std::string warps;
  std::size_t count = 0;
  for (std::size_t w = 0; w < m.warps.size(); ++w) {
    auto const lanes = std::popcount(m.warps[w].lanes);
    if (lanes == 0) continue;
    warps += (count++ == 0 ? " " : ", ") + std::to_string(lanes) + " of warp " + std::to_string(w);
  }
  return " for " + std::to_string(m.expected) + " threads gets" + warps + ": a barrier takes whole warps" +
         (count * warp_lanes > m.expected ? ". Do two groups use it at the same time?" : "");
}

void meet(unsigned number, unsigned threads, char const* what, bool waits, site at) {
  inside_emulator const inside;
  auto& state = *launch_now;
  if (state.leaves_out("barrier", what, at)) return;
  begin_step();
  auto& self = *thread_now;
  auto& home = *self.home;
  auto const place = [&] { return std::string(what) + " at " + text_of(at) + ": barrier " + std::to_string(number); };
  if (number >= named_barriers || (number == 0 && std::string_view(what) != "sync_cta"))
    state.raise(fault_kind::misuse, place() + ": named barriers are 1 to 15");
  if (threads == 0 || threads % warp_lanes != 0 || threads > home.threads.size())
    state.raise(fault_kind::barrier_count, place() + " for " + std::to_string(threads) +
                                               " threads: a multiple of 32, at most the " +
                                               std::to_string(home.threads.size()) + " of the CTA");
  auto& m = home.barriers[number];
  if (m.arrived > 0 && m.expected != threads)
    state.raise(fault_kind::barrier_count, place() + " for " + std::to_string(threads) +
                                               " threads, while others wait there for " + std::to_string(m.expected) +
                                               ", at " + text_of(m.at));
  m.warps.resize(home.warps.size());
  m.expected = threads;
  m.at = at;
  auto& arrival = m.warps[self.team->rank];
  auto const bit = 1u << self.lane();
  if ((arrival.lanes & bit) != 0)
    state.raise(fault_kind::barrier_count, place() + ": a thread arrives twice before all have");
  if (arrival.lanes == 0) {
    arrival.what = what;
    arrival.at = at;
  } else if (std::string_view(arrival.what) != what || arrival.at.line != at.line) {
    state.raise(fault_kind::divergence, place() + ": other lanes of the warp are in " + arrival.what + " at " +
                                            text_of(arrival.at) + "; a warp takes these barriers as a whole");
  }
  arrival.lanes |= bit;
  state.clocks.release(self.clock, m.released);
  state.progress();
  if (++m.arrived < threads) {
    if (!waits) return;
    self.wait = {.kind = wait_kind::barrier, .what = what, .at = at, .object = &m, .number = number};
    m.waiters.push_back(&self);
    state.block();
    return;
  }
  bool const whole =
      std::all_of(m.warps.begin(), m.warps.end(), [](auto const& w) { return w.lanes == 0 || w.lanes == ~0u; });
  if (!whole) state.raise(fault_kind::barrier_count, place() + who_arrived(m));
  end_meeting(m, waits);
}

} // namespace

void sync_cta(site at) { meet(0, launch_now->shape.threads, "sync_cta", true, at); }
void sync_named(unsigned barrier, unsigned threads, site at) { meet(barrier, threads, "sync_named", true, at); }
void arrive_named(unsigned barrier, unsigned threads, site at) { meet(barrier, threads, "arrive_named", false, at); }

void sync_cluster(site at) {
  inside_emulator const inside;
  auto& state = *launch_now;
  if (state.leaves_out("barrier", "sync_cluster", at)) return;
  begin_step();
  auto& self = *thread_now;
  auto& m = state.cluster_barriers[self.home->rank / state.shape.cluster];
  m.expected = state.shape.cluster * state.shape.threads;
  state.clocks.release(self.clock, m.released);
  state.progress();
  if (++m.arrived == m.expected) return end_meeting(m, true);
  self.wait = {.kind = wait_kind::cluster, .what = "sync_cluster", .at = at, .object = &m};
  m.waiters.push_back(&self);
  state.block();
}

void* peer_address(void* mine, unsigned rank, site at) {
  inside_emulator const inside;
  auto& state = *launch_now;
  auto const& home = *thread_now->home;
  if (!is_own_shared(mine))
    state.raise(fault_kind::bounds,
                "peer_address at " + text_of(at) + " of " + name_of_address(mine) + ", which is not of this CTA");
  if (rank >= state.shape.cluster)
    state.raise(fault_kind::misuse, "peer_address at " + text_of(at) + " of CTA " + std::to_string(rank) +
                                        " of a cluster of " + std::to_string(state.shape.cluster));
  if (rank != home.rank % state.shape.cluster && !state.cluster_barriers[home.rank / state.shape.cluster].met)
    state.raise(fault_kind::misuse, "peer_address at " + text_of(at) +
                                        " before the CTAs of the cluster have met: CTA " + std::to_string(rank) +
                                        " of it may not have started");
  return state.ctas[home.rank / state.shape.cluster * state.shape.cluster + rank].shared + offset_in_shared(mine, home);
}

void fence_async_proxy(bool global, site at) {
  inside_emulator const inside;
  auto& state = *launch_now;
  if (state.leaves_out("fence", global ? "fence_async_proxy_everywhere" : "fence_async_proxy", at)) return;
  begin_step();
  state.races.fenced(thread_now->clock, global);
}

} // namespace tylo::emulator
