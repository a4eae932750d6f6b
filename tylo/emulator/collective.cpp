#include <megakernels/tylo/emulator/internal/collective.hpp>
#include <megakernels/tylo/emulator/lane.hpp>

#include <array>
#include <cstring>
#include <string_view>

namespace tylo::emulator {

void yield_at_times() {
  if (launch_now->how.seed != 0 && launch_now->random(16) == 0) launch_now->yield();
}

void begin_step() {
  thread_now->polled.clear();
  thread_now->fruitless = 0;
  yield_at_times();
}

void collective(char const* what, bool aligned, site at, void* argument, void (*carry_out)(warp&)) {
  auto& state = *launch_now;
  auto& self = *thread_now;
  auto& w = *self.team;
  self.polled.clear();
  self.fruitless = 0;
  if (w.ended != 0)
    state.raise(fault_kind::divergence,
                std::string(what) + " at " + text_of(at) + " needs all lanes of the warp, and some have ended");
  if (w.arrived == 0) {
    w.what = what;
    w.at = at;
    w.carry_out = carry_out;
  } else if (w.carry_out != carry_out || std::string_view(w.what) != what || (aligned && w.at.line != at.line)) {
    state.raise(fault_kind::divergence, "a lane does " + std::string(what) + " at " + text_of(at) +
                                            " while others of its warp wait in " + w.what + " at " + text_of(w.at));
  }
  self.argument = argument;
  w.arrived |= 1u << self.lane();
  if (w.arrived != ~0u) {
    self.wait = {.kind = wait_kind::warp, .what = what, .at = at, .object = &w};
    state.block();
    return;
  }
  ++state.counts.collectives;
  state.progress();
  w.arrived = 0;
  carry_out(w);
  for (auto* const t : w.lanes)
    if (t != &self) state.ready(*t);
}

namespace {

struct exchanged {
  std::uint64_t value;
  unsigned from;
};

void carry_out_shuffle(warp& w) {
  std::array<std::uint64_t, warp_lanes> values;
  for (unsigned i = 0; i < warp_lanes; ++i) values[i] = static_cast<exchanged*>(w.lanes[i]->argument)->value;
  for (unsigned i = 0; i < warp_lanes; ++i) {
    auto& e = *static_cast<exchanged*>(w.lanes[i]->argument);
    e.value = values[e.from % warp_lanes];
  }
}

struct vote {
  bool condition;
  std::uint32_t all;
};

void carry_out_ballot(warp& w) {
  std::uint32_t all = 0;
  for (unsigned i = 0; i < warp_lanes; ++i) all |= (static_cast<vote*>(w.lanes[i]->argument)->condition ? 1u : 0u) << i;
  for (auto* const t : w.lanes) static_cast<vote*>(t->argument)->all = all;
}

/// Orders what the lanes did before with what they do after.
void carry_out_sync(warp& w) {
  auto& clocks = launch_now->clocks;
  gathering all;
  for (auto* const t : w.lanes) clocks.release(t->clock, all);
  auto const together = clocks.value(all);
  for (auto* const t : w.lanes) clocks.acquire(t->clock, together);
}

struct joined {
  void* value;
  std::size_t bytes;
  unsigned distances;
  void (*join)(void*, void const*);
};

void carry_out_butterfly(warp& w) {
  constexpr std::size_t most_bytes = 16;
  std::array<std::array<std::byte, most_bytes>, warp_lanes> values, others;
  auto const& first = *static_cast<joined*>(w.lanes[0]->argument);
  for (auto const* const lane : w.lanes) {
    auto const& of = *static_cast<joined*>(lane->argument);
    if (of.distances != first.distances || of.bytes != first.bytes || of.join != first.join)
      launch_now->raise(fault_kind::divergence, "lanes of a warp join other values, or in another way, in " +
                                                    std::string(w.what) + " at " + text_of(w.at));
  }
  for (unsigned i = 0; i < warp_lanes; ++i)
    std::memcpy(values[i].data(), static_cast<joined*>(w.lanes[i]->argument)->value, first.bytes);
  for (unsigned apart = warp_lanes / 2; apart > 0; apart /= 2) {
    if ((first.distances & apart) == 0) continue;
    others = values;
    for (unsigned i = 0; i < warp_lanes; ++i) first.join(values[i].data(), others[i ^ apart].data());
  }
  for (unsigned i = 0; i < warp_lanes; ++i)
    std::memcpy(static_cast<joined*>(w.lanes[i]->argument)->value, values[i].data(), first.bytes);
}

void carry_out_registers(warp&) {}

} // namespace

unsigned thread_rank() { return thread_now->rank; }
unsigned rank_from(unsigned first, unsigned count, site at) {
  auto const rank = thread_now->rank;
  if (rank >= first && rank - first < count) return rank - first;
  inside_emulator const inside;
  launch_now->raise(fault_kind::misuse, "rank_from at " + text_of(at) + ": the thread is not of the group, threads " +
                                            std::to_string(first) + " to " + std::to_string(first + count - 1));
}
unsigned cta_rank() { return thread_now->home->rank; }
unsigned cta_count() { return launch_now->shape.ctas; }
unsigned multiprocessor_rank() { return thread_now->home->rank; }
unsigned cluster_size() { return launch_now->shape.cluster; }
unsigned cluster_rank() { return thread_now->home->rank % launch_now->shape.cluster; }
/// Time passes for who looks at it, and others get their turn.
std::uint64_t clock_ns() {
  inside_emulator const inside;
  launch_now->yield();
  return ++launch_now->now_ns;
}
bool is_batched() { return launch_now->how.batched; }
std::byte* shared_memory() { return thread_now->home->shared; }

void sync_warp(site at) {
  inside_emulator const inside;
  if (launch_now->leaves_out("barrier", "sync_warp", at)) return;
  collective("sync_warp", false, at, nullptr, &carry_out_sync);
}

std::uint64_t shuffle(std::uint64_t bits, unsigned from, site at) {
  inside_emulator const inside;
  exchanged e{bits, from};
  collective("shuffle", false, at, &e, &carry_out_shuffle);
  return e.value;
}

std::uint64_t shuffle_xor(std::uint64_t bits, unsigned mask, site at) {
  inside_emulator const inside;
  exchanged e{bits, thread_now->lane() ^ mask};
  collective("shuffle_xor", false, at, &e, &carry_out_shuffle);
  return e.value;
}

std::uint32_t ballot(bool condition, site at) {
  inside_emulator const inside;
  vote v{condition, 0};
  collective("ballot", false, at, &v, &carry_out_ballot);
  return v.all;
}

void butterfly(void* value, std::size_t bytes, unsigned distances, void (*join)(void*, void const*), site at) {
  inside_emulator const inside;
  joined j{value, bytes, distances, join};
  collective("reduction", false, at, &j, &carry_out_butterfly);
}

void pause_ns(unsigned ns, site at) {
  inside_emulator const inside;
  thread_now->wait = {.kind = wait_kind::sleep, .what = "pause_ns", .at = at};
  launch_now->sleep(ns);
}

void set_registers(unsigned count, bool, site at) {
  inside_emulator const inside;
  collective("setmaxnreg", true, at, nullptr, &carry_out_registers);
  if (thread_now->lane() == 0) thread_now->team->register_counts.push_back(count);
}

void expect_shape(unsigned threads, unsigned cluster, site at) {
  auto const& shape = launch_now->shape;
  if (shape.threads == threads && (cluster == 0 || shape.cluster == cluster)) return;
  inside_emulator const inside;
  launch_now->raise(fault_kind::misuse,
                    "at " + text_of(at) + " a group is of " + std::to_string(threads) + " threads of a CTA" +
                        (cluster == 0 ? "" : " and " + std::to_string(cluster) + " CTAs of a cluster") +
                        ", in a launch of " + std::to_string(shape.threads) + " threads of a CTA and clusters of " +
                        std::to_string(shape.cluster));
}

} // namespace tylo::emulator
