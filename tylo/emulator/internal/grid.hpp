#pragma once

/// A launch while it runs: CTAs, warps, threads, and what each of them waits for.

#include <megakernels/tylo/emulator/internal/clock.hpp>
#include <megakernels/tylo/emulator/internal/fiber.hpp>
#include <megakernels/tylo/emulator/internal/race.hpp>
#include <megakernels/tylo/emulator/internal/symbols.hpp>
#include <megakernels/tylo/emulator/launch.hpp>
#include <megakernels/tylo/site.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace tylo::emulator {

inline constexpr unsigned warp_lanes = 32;
/// Named barriers of a CTA.
inline constexpr unsigned named_barriers = 16;
/// Asynchronous operations of a CTA that are told apart by the race detector; then names are used again.
inline constexpr unsigned engines = 64;

struct cta;
struct warp;
struct watched_stack;

enum class wait_kind : std::uint8_t { none, warp, barrier, cluster, mbarrier, poll, sleep, ended };

/// What a thread waits for.
struct waiting {
  wait_kind kind = wait_kind::none;
  char const* what = ""; ///< the instruction
  site at{"", 0};
  void const* object = nullptr; ///< mbarrier, barrier or word
  std::uint32_t number = 0;     ///< of the barrier, parity of the mbarrier
};

/// A word that a thread has looked at, and what it saw.
struct polled_word {
  void const* address = nullptr;
  std::uint64_t value = 0;
  bool of_host = false;
};

/// A copy that the thread which started it can wait for.
struct started_copy {
  std::uint64_t number = 0;
  agent_clock reader, writer; ///< of its source and of its target
  void* to = nullptr;
  std::size_t bytes = 0;
  site at{"", 0};
  bool is_read = false; ///< the thread knows that its source is
};

/// A tensor map as a thread was told of it.
struct acquired_map {
  void const* map = nullptr;
  std::array<std::uint64_t, 16> words{};
};

/// A thread of the kernel.
struct thread {
  fiber context;
  thread* next = nullptr; ///< in the queue of those that can run
  cta* home = nullptr;
  warp* team = nullptr;
  unsigned rank = 0; ///< in its CTA
  waiting wait;
  agent_clock clock;
  void* argument = nullptr; ///< of the collective that it is in

  /// Words that it has polled since it last did anything else; and how often in a row nothing came of it.
  std::vector<polled_word> polled;
  unsigned fruitless = 0;
  std::uint64_t wake_at = 0; ///< when sleeping or polling

  std::shared_ptr<watched_stack> sums; ///< of warpgroup products; null before the first fence_products
  /// Copies of the thread that it can wait for: of each commit group, and of the open one.
  std::deque<std::vector<started_copy>> cp_groups, bulk_groups;
  std::vector<started_copy> cp_open, bulk_open;
  std::vector<acquired_map> maps;

  std::shared_ptr<announced_accesses const> work; ///< all that it may touch now; null: anything

  [[nodiscard]] unsigned lane() const { return rank % warp_lanes; }
};

struct warp {
  unsigned rank = 0;
  std::uint32_t arrived = 0; ///< lanes in the collective that is gathering
  std::uint32_t ended = 0;
  char const* what = nullptr;
  site at{"", 0};
  void (*carry_out)(warp&) = nullptr;
  std::array<thread*, warp_lanes> lanes{};
  bool stalled = false;
  std::vector<unsigned> register_counts; ///< that its setmaxnreg have asked for
};

/// Threads that meet: a named barrier of a CTA, or that of a cluster.
struct meeting {
  unsigned arrived = 0;
  unsigned expected = 0;
  std::vector<thread*> waiters;
  gathering released;
  /// What the lanes of a warp do that have arrived: all of them the same.
  struct warp_arrival {
    std::uint32_t lanes = 0;
    char const* what = nullptr;
    site at{"", 0};
  };
  std::vector<warp_arrival> warps;
  site at{"", 0};
  bool met = false; ///< at least once
};

/// Bytes that something has announced to an mbarrier or brought.
struct counted_bytes {
  char const* what = "";
  site at{"", 0};
  std::uint64_t bytes = 0;
};

struct mbarrier_state {
  std::size_t offset = 0;     ///< of the word in the arena
  std::uint32_t expected = 0; ///< arrivals of a phase
  std::uint32_t pending = 0;  ///< arrivals that are missing
  std::int64_t bytes = 0;     ///< announced and not arrived
  std::int64_t early = 0;     ///< arrived and not announced
  std::uint32_t phases = 0;   ///< that have ended
  gathering released;         ///< in this phase
  clock_ref last;             ///< what the last phase that ended released
  clock_ref before_last;      ///< and the one before it
  std::vector<thread*> waiters;
  std::vector<std::uint32_t> seen; ///< by each thread: so many phases that have ended
  std::uint32_t most_seen = 0;     ///< by any
  agent_id made{};                 ///< who initialised it, and when
  std::uint32_t made_at = 0;
  std::uint32_t published_at = 0; ///< when the same thread told copies of it; 0: never
  site published{"", 0};
  std::vector<counted_bytes> announced, brought; ///< in this phase
  counted_bytes last_copy;                       ///< that has completed here
  std::uint32_t last_copy_phase = 0;
};

/// Warpgroup products of four warps.
struct product_group;

struct cta {
  unsigned rank = 0;
  std::size_t slot = 0; ///< of its shared memory
  std::byte* shared = nullptr;
  std::vector<std::unique_ptr<thread>> threads;
  std::vector<warp> warps;
  std::vector<meeting> barriers;
  std::deque<mbarrier_state> mbarriers;
  std::vector<std::shared_ptr<product_group>> products; ///< of each warpgroup; made when used
  unsigned live = 0;
  unsigned next_engine = 0;
  bool disfavoured = false;
};

/// A copy or product that is under way.
struct operation {
  std::uint64_t number = 0;
  char const* what = "";
  site at{"", 0};
  cta* home = nullptr;
  std::function<void()> carry_out;
  /// Where it is going to write, for reports; none: 0 bytes.
  std::size_t target = 0, target_bytes = 0;
};

/// What an asynchronous engine last did.
struct engine_work {
  char const* what = "";
  site at{"", 0};
};

/// Slots of shared memory, for as long as a launch may use them. They are given back after the clocks of the launch
/// have ended, so that those of whoever takes them next are later.
struct shared_slots_of_launch {
  explicit shared_slots_of_launch(std::size_t ctas);
  ~shared_slots_of_launch();
  shared_slots_of_launch(shared_slots_of_launch const&) = delete;
  shared_slots_of_launch& operator=(shared_slots_of_launch const&) = delete;

  std::size_t count;
  std::size_t first;
};

/// A word that atomic accesses have written. Threads that nothing orders after the last write, or after someone who has
/// seen it, may find what was there before.
struct shared_word {
  gathering released; ///< by the last write and those that it goes on with
  agent_id writer{};
  std::uint32_t written_at = 0;                            ///< the writer's clock
  std::vector<std::pair<agent_id, std::uint32_t>> seen_by; ///< and the clocks of those
  std::uint64_t value_before = 0;
  clock_ref released_before;
};

class launch_state {
public:
  launch_state(grid const&, options const&, void (*entry)(void*), void const* arguments, std::size_t bytes);
  ~launch_state();
  launch_state(launch_state const&) = delete;
  launch_state& operator=(launch_state const&) = delete;

  statistics run();

  grid const shape;
  options const how;
  statistics counts;
  completion when; ///< asynchronous operations are carried out
  std::uint64_t now_ns = 1;

  shared_slots_of_launch slots;
  clock_domain clocks;
  race_detector races;
  bool check_races;
  std::deque<cta> ctas;
  std::vector<meeting> cluster_barriers;
  std::unordered_map<std::size_t, shared_word> shared_words; ///< by offset in the arena

  /// Lets a thread run that waited.
  void ready(thread&);
  /// The calling thread has said what it waits for; others run until it is made ready.
  void block();
  /// Lets others run.
  void yield();

  /// Starts an operation of the calling thread. Returns its number.
  std::uint64_t start(char const* what, site, std::size_t target, std::size_t target_bytes,
                      std::function<void()> carry_out);
  /// The clock of an operation that the calling thread starts now.
  agent_clock clock_of_operation(cta& home, char const* what, site);
  /// Carries the operation out now.
  void finish(std::uint64_t operation);
  [[nodiscard]] operation const* writer_of(std::size_t offset) const;

  /// The calling thread polls a word and has seen `value`: where it sees the same again, it is put aside until the word
  /// changes or some time has passed.
  /// Returns whether it was put aside: the word may have another value now.
  bool polled(void const* address, std::uint64_t value, bool of_host);
  /// A word was written that others may poll.
  void changed(void const* address);
  void sleep(std::uint64_t ns);
  /// Something happened that is no poll.
  void progress() { last_progress_ns_ = now_ns; }
  /// Memory was written, or something has ended.
  void wrote() { idle_turns_ = 0; }
  /// The calling thread accesses memory: once in a while others get their turn, whatever it does.
  void count_access() {
    if (++accesses_since_yield_ > most_accesses) yield();
  }

  /// Notes a wait, arrival, fence, barrier or commit that the kernel has come to.
  void used(char const* kind, char const* what, site at) {
    if (how.list_sites) list_site(kind, what, at);
  }
  /// The same; and whether what stands at this place in the source is to be left out.
  [[nodiscard]] bool leaves_out(char const* kind, char const* what, site at) {
    used(kind, what, at);
    return at.line == deleted_line_ && deleted_line_ != 0 && is_deleted(at);
  }

  std::uint64_t random(std::uint64_t below);

  /// Reports and ends the launch. From a thread of the kernel.
  [[noreturn]] void raise(fault_kind, std::string const& text);

  std::string name_of_agent(agent_id) const;

private:
  void list_site(char const* kind, char const* what, site at);
  void thread_ended();
  static void enter(void*);
  bool run_entry(void* own);
  thread* pick();
  thread* take_ready();
  void carry_out(std::size_t index);
  void carry_out_one(bool oldest);
  void wake_due();
  bool pass_time();
  void redraw_favours();
  void check_end(cta&);
  bool is_deleted(site) const;
  std::string who_waits() const;

  void (*entry_)(void*);
  std::vector<std::byte> arguments_;
  std::string thrown_; ///< what an exception said that left the kernel
  fiber main_;
  thread* first_ = nullptr;
  thread* last_ = nullptr;
  std::size_t ready_count_ = 0;
  std::vector<thread*> pollers_, sleepers_;
  std::deque<operation> pending_;
  std::uint64_t next_operation_ = 1;
  std::vector<engine_work> work_; ///< of each engine of each CTA
  unsigned live_ = 0;
  std::uint64_t last_progress_ns_ = 0;
  std::uint64_t idle_turns_ = 0;
  static constexpr std::uint64_t most_accesses = 1'000'000;
  std::uint64_t accesses_since_yield_ = 0;
  std::uint64_t random_ = 0;
  std::uint64_t picks_until_redraw_ = 0;
  int deleted_line_ = 0;
  bool faulted_ = false;
  fault_kind fault_kind_{};
  std::string fault_text_;
};

/// Of the calling thread of the host; null outside of a kernel.
extern thread_local constinit launch_state* launch_now;
extern thread_local constinit thread* thread_now;
/// The same while code of the kernel itself runs; null while the emulator's does, whose own accesses are not looked at.
extern thread_local constinit thread* armed_thread;

/// The part of a lane function that is the emulator's. When it ends, another thread may be running than at its start.
struct inside_emulator {
  inside_emulator() { armed_thread = nullptr; }
  ~inside_emulator() { armed_thread = thread_now; }
  inside_emulator(inside_emulator const&) = delete;
  inside_emulator& operator=(inside_emulator const&) = delete;
};

/// Distance of an address from the start of a CTA's shared memory: not less than its size for what lies elsewhere.
inline std::size_t offset_in_shared(void const* address, cta const& of) {
  return static_cast<std::size_t>(static_cast<std::byte const*>(address) - of.shared);
}
inline bool is_own_shared(void const* address) {
  return offset_in_shared(address, *thread_now->home) < launch_now->shape.shared_bytes;
}

/// Checks an access of the calling thread to device memory and records it: state of the bytes, whose memory, races.
/// `position` is 0 where `at` tells the place.
struct access_kind {
  bool write = false;
  bool atomic = false;
  bool object = false; ///< a whole one, with its padding
};
void check_access(void const* address, std::size_t bytes, access_kind, code_position, site);
/// The same of an asynchronous operation of this clock, issued by the calling thread.
void check_operation(void const* address, std::size_t bytes, bool write, agent_clock const&, char const* what, site,
                     proxy = proxy::async);

std::string text_of(site);
std::string name_of_thread(thread const&);
/// "shared memory of CTA 0, byte 16400" or "byte 12 of global memory 'x' of 64 bytes".
std::string name_of_address(void const*);

} // namespace tylo::emulator
