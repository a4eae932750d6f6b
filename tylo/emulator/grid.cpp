#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/internal/copies.hpp>
#include <megakernels/tylo/emulator/internal/grid.hpp>
#include <megakernels/tylo/emulator/internal/products.hpp>
#include <megakernels/tylo/layout/number.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

namespace tylo::emulator {

thread_local constinit launch_state* launch_now = nullptr;
thread_local constinit thread* thread_now = nullptr;
thread_local constinit thread* armed_thread = nullptr;

namespace {

constexpr std::uint64_t ns_per_pick = 10;
constexpr std::uint64_t picks_between_looks = 256; ///< at those whose time has come
constexpr std::uint64_t first_poll_ns = 1000, longest_poll_ns = 10'000'000;

void expect_possible(grid const& g) {
  auto const refuse = [](std::string const& text) { throw std::invalid_argument("emulated grid: " + text); };
  if (g.ctas == 0) refuse("no CTAs");
  if (g.threads == 0 || g.threads % warp_lanes != 0 || g.threads > 1024)
    refuse(std::to_string(g.threads) + " threads in a CTA: a multiple of 32, at most 1024");
  if (g.shared_bytes > shared_pitch / 2)
    refuse(std::to_string(g.shared_bytes) + " bytes of shared memory, at most " + std::to_string(shared_pitch / 2));
  if (g.cluster != 1 && g.cluster != 2) refuse("clusters of " + std::to_string(g.cluster) + ": 1 or 2");
  if (g.ctas % g.cluster != 0) refuse("clusters of 2 and " + std::to_string(g.ctas) + " CTAs");
  if (g.ctas > shared_slots) refuse(std::to_string(g.ctas) + " CTAs, at most " + std::to_string(shared_slots));
}

completion when_by(options const& how) {
  if (how.asynchronous != completion::by_seed) return how.asynchronous;
  constexpr completion kinds[] = {completion::late, completion::early, completion::random};
  return kinds[how.seed % 3];
}

std::uint64_t mixed(std::uint64_t x) { // splitmix64
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Whether the operation is going to write its target.
void set_arriving(operation const& o, bool is) {
  auto* const states = the_arena.states + o.target;
  for (std::size_t i = 0; i < o.target_bytes; ++i)
    states[i] = static_cast<std::uint8_t>(is ? states[i] | arriving : states[i] & ~arriving);
}

} // namespace

shared_slots_of_launch::shared_slots_of_launch(std::size_t ctas) : count(ctas), first(take_shared_slots(ctas)) {}
shared_slots_of_launch::~shared_slots_of_launch() { give_shared_slots(first, count); }

launch_state::launch_state(grid const& g, options const& o, void (*entry)(void*), void const* arguments,
                           std::size_t bytes)
    : shape((expect_possible(g), g)), how(o), when(when_by(o)), slots(g.ctas), clocks(g.ctas, g.threads + engines),
      races(clocks), check_races(o.races), entry_(entry),
      arguments_(static_cast<std::byte const*>(arguments), static_cast<std::byte const*>(arguments) + bytes),
      work_(std::size_t(g.ctas) * engines), random_(mixed(o.seed)),
      deleted_line_(o.deleted_site ? o.deleted_site->line : 0) {
  cluster_barriers.resize(g.ctas / g.cluster);
  for (unsigned c = 0; c < g.ctas; ++c) {
    auto& of = ctas.emplace_back();
    of.rank = c;
    of.slot = slots.first + c;
    of.shared = the_arena.memory + shared_offset(of.slot);
    std::memset(the_arena.states + shared_offset(of.slot), allocated, g.shared_bytes);
    of.barriers.resize(named_barriers);
    of.warps.resize(g.threads / warp_lanes);
    of.products.resize((g.threads + 127) / 128);
    of.live = g.threads;
    for (unsigned r = 0; r < g.threads; ++r) {
      auto& t = *of.threads.emplace_back(std::make_unique<thread>());
      t.home = &of;
      t.team = &of.warps[r / warp_lanes];
      t.team->rank = r / warp_lanes;
      t.team->lanes[r % warp_lanes] = &t;
      t.rank = r;
      t.clock = clocks.thread(c, r);
      ready(t);
    }
  }
  live_ = g.ctas * g.threads;
}

launch_state::~launch_state() {
  for (auto const& o : pending_) set_arriving(o, false); // of a launch that failed
  for (auto const& c : ctas) std::memset(the_arena.states + shared_offset(c.slot), 0, shape.shared_bytes);
}

statistics launch_state::run() {
  fiber_set stacks(std::size_t(shape.ctas) * shape.threads);
  std::size_t next = 0;
  for (auto& c : ctas)
    for (auto& t : c.threads) stacks.make(next++, t->context, &launch_state::enter, nullptr);
  launch_now = this;
  auto* const first = pick();
  thread_now = first;
  switch_to(main_, first->context);
  launch_now = nullptr;
  thread_now = nullptr;
  if (faulted_) throw fault(fault_kind_, fault_text_);
  if (how.on_end) how.on_end(counts);
  return counts;
}

// The address sanitizer would keep `own` elsewhere than on the fiber's stack.
[[gnu::no_sanitize_address]] void launch_state::enter(void*) {
  auto& state = *launch_now;
  alignas(16) std::byte own[detail::most_argument_bytes]; // as on a GPU: a copy in the thread's own memory
  std::memcpy(own, state.arguments_.data(), state.arguments_.size());
  armed_thread = thread_now;
  bool const ended = state.run_entry(own);
  armed_thread = nullptr;
  if (!ended) state.raise(fault_kind::misuse, "an exception leaves the kernel: " + state.thrown_);
  state.thread_ended();
}

namespace {
/// Claims of layouts are checked in code for both sides.
void report_broken_claim(char const* text) {
  if (armed_thread == nullptr) return;
  armed_thread = nullptr; // from here on it is the emulator that runs
  launch_now->raise(fault_kind::misuse, text);
}
[[maybe_unused]] bool const reports_claims = (tylo::detail::claim_breaks = &report_broken_claim, true);
} // namespace

/// Code for both sides may throw. The fault is raised after the exception is over: this thread
/// does not come back from it.
bool launch_state::run_entry(void* own) {
  try {
    entry_(own);
    return true;
  } catch (std::exception const& e) {
    armed_thread = nullptr; // from here on it is the emulator that runs
    thrown_ = e.what();
  }
  return false;
}

void launch_state::thread_ended() {
  auto& t = *thread_now;
  auto& w = *t.team;
  if (w.arrived != 0)
    raise(fault_kind::divergence,
          "a lane ends while others of its warp wait for it in " + std::string(w.what) + " at " + text_of(w.at));
  check_stores_at_end(t);
  check_products_at_end(t);
  w.ended |= 1u << t.lane();
  t.wait = {.kind = wait_kind::ended};
  progress();
  wrote();
  if (--t.home->live == 0) check_end(*t.home);
  if (--live_ > 0) block();
  switch_to(t.context, main_);
}

/// A CTA has ended: nothing of it may be under way, and others of its cluster no longer reach its shared memory.
void launch_state::check_end(cta& c) {
  for (auto const& o : pending_)
    if (o.home == &c)
      raise(fault_kind::exit,
            "CTA " + std::to_string(c.rank) + " ends while " + o.what + " from " + text_of(o.at) + " is under way");
  constexpr std::size_t group = 4;
  for (std::size_t w = 0; w < c.warps.size() / group * group; ++w)
    if (auto const& first = c.warps[w / group * group]; c.warps[w].register_counts != first.register_counts)
      raise(fault_kind::divergence, "warps " + std::to_string(first.rank) + " and " + std::to_string(w) + " of CTA " +
                                        std::to_string(c.rank) +
                                        " have not asked for the same registers by setmaxnreg: all four warps of a "
                                        "warpgroup do");
  if (shape.cluster > 1) std::memset(the_arena.states + shared_offset(c.slot), 0, shape.shared_bytes);
}

void begin_work(void const* what, site) {
  inside_emulator const inside;
  if (launch_now->how.announced) thread_now->work = launch_now->how.announced(what);
}
void end_work(site) { thread_now->work = nullptr; }

void launch_state::ready(thread& t) {
  t.wait.kind = wait_kind::none;
  t.next = nullptr;
  (last_ != nullptr ? last_->next : first_) = &t;
  last_ = &t;
  ++ready_count_;
}

void launch_state::block() {
  auto* const self = thread_now;
  auto* const next = pick();
  if (next == self) return;
  ++counts.switches;
  thread_now = next;
  switch_to(self->context, next->context);
}

void launch_state::yield() {
  accesses_since_yield_ = 0;
  if (first_ == nullptr) return;
  ready(*thread_now);
  block();
}

std::uint64_t launch_state::random(std::uint64_t below) {
  random_ ^= random_ << 13; // xorshift64
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return random_ % below;
}

thread* launch_state::pick() {
  for (;;) {
    now_ns += ns_per_pick;
    if (++idle_turns_ > how.most_idle_turns)
      raise(fault_kind::livelock, "in " + std::to_string(how.most_idle_turns) +
                                      " turns of threads nothing was written, and no copy or product ended" +
                                      who_waits());
    if (now_ns / ns_per_pick % picks_between_looks == 0) wake_due();
    if (when == completion::random && !pending_.empty() && random(8) == 0) carry_out_one(false);
    if (auto* const t = take_ready(); t != nullptr) return t;
    if (!pending_.empty())
      carry_out_one(when != completion::random);
    else if (!pass_time())
      raise(fault_kind::deadlock,
            std::to_string(live_) + " threads have not ended and none can ever run again" + who_waits());
  }
}

thread* launch_state::take_ready() {
  auto const pop = [&] {
    auto* const t = first_;
    first_ = t->next;
    if (first_ == nullptr) last_ = nullptr;
    --ready_count_;
    return t;
  };
  if (first_ == nullptr) return nullptr;
  if (how.seed == 0) return pop();
  if (picks_until_redraw_-- == 0) redraw_favours();
  for (auto tries = std::min<std::size_t>(ready_count_, 64); tries > 1; --tries) {
    auto* const t = first_;
    bool const held = t->team->stalled || t->home->disfavoured;
    if (!(held && random(32) != 0) && random(4) != 0) break;
    ready(*pop());
  }
  return pop();
}

/// Which warps are held back and which CTAs get few turns, for the next while.
void launch_state::redraw_favours() {
  picks_until_redraw_ = 100 + random(2000);
  auto const style = how.seed / 3 % 4;
  for (auto& c : ctas) {
    c.disfavoured = (style & 1) != 0 && random(3) == 0;
    for (auto& w : c.warps) w.stalled = (style & 2) != 0 && random(6) == 0;
  }
}

std::uint64_t launch_state::start(char const* what, site at, std::size_t target, std::size_t target_bytes,
                                  std::function<void()> carry_out) {
  progress();
  auto const number = next_operation_++;
  if (when == completion::early) {
    carry_out();
    return number;
  }
  pending_.push_back({.number = number,
                      .what = what,
                      .at = at,
                      .home = target_bytes > 0 && target >= global_bytes
                                  ? &ctas[(target - global_bytes) / shared_pitch - slots.first]
                                  : thread_now->home,
                      .carry_out = std::move(carry_out),
                      .target = target,
                      .target_bytes = target_bytes});
  set_arriving(pending_.back(), true);
  return number;
}

void launch_state::carry_out(std::size_t index) {
  auto const at = pending_.begin() + static_cast<std::ptrdiff_t>(index);
  auto const o = std::move(*at);
  pending_.erase(at);
  set_arriving(o, false);
  progress();
  wrote();
  o.carry_out();
}

void launch_state::carry_out_one(bool oldest) { carry_out(oldest ? 0 : random(pending_.size())); }

void launch_state::finish(std::uint64_t number) {
  auto const at =
      std::find_if(pending_.begin(), pending_.end(), [&](operation const& o) { return o.number == number; });
  if (at != pending_.end()) carry_out(static_cast<std::size_t>(at - pending_.begin()));
}

operation const* launch_state::writer_of(std::size_t offset) const {
  for (auto const& o : pending_)
    if (offset - o.target < o.target_bytes) return &o;
  return nullptr;
}

agent_clock launch_state::clock_of_operation(cta& home, char const* what, site at) {
  auto const engine = home.next_engine++ % engines;
  work_[std::size_t(home.rank) * engines + engine] = {what, at};
  return clocks.operation(thread_now->clock, home.rank, shape.threads + engine);
}

bool launch_state::polled(void const* address, std::uint64_t value, bool of_host) {
  auto& t = *thread_now;
  for (auto& p : t.polled) {
    if (p.address != address) continue;
    if (p.value != value) {
      p.value = value;
      t.fruitless = 0;
      return false;
    }
    t.wake_at = now_ns + std::min(first_poll_ns << std::min(t.fruitless, 14u), longest_poll_ns);
    ++t.fruitless;
    pollers_.push_back(&t);
    block();
    return true;
  }
  t.polled.push_back({address, value, of_host});
  return false;
}

void launch_state::changed(void const* address) {
  progress();
  std::erase_if(pollers_, [&](thread* t) {
    bool const looks =
        std::any_of(t->polled.begin(), t->polled.end(), [&](polled_word const& p) { return p.address == address; });
    if (looks) ready(*t);
    return looks;
  });
}

void launch_state::sleep(std::uint64_t ns) {
  auto& t = *thread_now;
  t.wake_at = now_ns + ns;
  sleepers_.push_back(&t);
  block();
}

void launch_state::wake_due() {
  for (auto* const list : {&pollers_, &sleepers_})
    std::erase_if(*list, [&](thread* t) {
      bool const due = t->wake_at <= now_ns;
      if (due) ready(*t);
      return due;
    });
}

bool launch_state::pass_time() {
  if (pollers_.empty() && sleepers_.empty()) return false;
  auto const asks_host = [](thread* t) {
    return std::any_of(t->polled.begin(), t->polled.end(), [](polled_word const& p) { return p.of_host; });
  };
  auto const first_of = [](std::vector<thread*> const& list) {
    auto least = ~std::uint64_t(0);
    for (auto const* const t : list) least = std::min(least, t->wake_at);
    return least;
  };
  // Time that the host can use passes as it does for the host, but for pauses of a thread.
  constexpr std::uint64_t pause = 1000;
  bool const pauses = first_of(sleepers_) <= now_ns + pause;
  if (how.idle && !pauses && std::any_of(pollers_.begin(), pollers_.end(), asks_host)) {
    now_ns += static_cast<std::uint64_t>(how.idle().count());
    progress();
    wrote();
    for (auto* const t : pollers_)
      if (asks_host(t)) t->wake_at = now_ns;
    wake_due();
    return true;
  }
  now_ns = std::max(now_ns, std::min(first_of(pollers_), first_of(sleepers_)));
  if (now_ns - last_progress_ns_ > static_cast<std::uint64_t>(how.patience.count()))
    raise(fault_kind::livelock,
          "for " + std::to_string((now_ns - last_progress_ns_) / 1000000) +
              " ms of the kernel's time nothing but polls, and no word that they look at changes" + who_waits());
  wake_due();
  return true;
}

void launch_state::list_site(char const* kind, char const* what, site at) {
  for (auto& s : counts.sites)
    if (s.line == at.line && s.step == at.step && s.kind == kind && s.file == at.file) {
      ++s.times;
      return;
    }
  counts.sites.push_back({.kind = kind, .what = what, .file = at.file, .line = at.line, .step = at.step, .times = 1});
}

bool launch_state::is_deleted(site at) const {
  auto const& of = *how.deleted_site;
  return (of.step == 0 || of.step == at.step) && std::string_view(at.file).ends_with(of.file);
}

namespace detail {

statistics launch(grid const& g, options const& o, void (*entry)(void*), void const* arguments, std::size_t bytes) {
  reserve_arena();
  launch_state state(g, o, entry, arguments, bytes);
  return state.run();
}

} // namespace detail

} // namespace tylo::emulator
