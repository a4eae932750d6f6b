#pragma once

/// Runs a kernel on the CPU, thread by thread: each thread of the grid is a fiber of the calling thread, and switches
/// to others only inside the functions of tylo/lane.

#include <megakernels/tylo/emulator/fault.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tylo::emulator {

/// The shape of a launch. All CTAs are resident at the same time.
struct grid {
  unsigned ctas = 1;
  unsigned threads = 32;        ///< of a CTA: a multiple of 32, at most 1024
  std::size_t shared_bytes = 0; ///< dynamic shared memory of a CTA
  unsigned cluster = 1;         ///< CTAs of a cluster: 1 or 2; divides `ctas`
};

/// When asynchronous operations (copies, warpgroup products) are carried out.
enum class completion {
  by_seed, ///< one of the others; late for seed 0
  late,    ///< when nothing else can run: shows what reads too early
  early,   ///< at once: shows what is overwritten too early
  random,  ///< anywhere between
};

/// A place in the source where a kernel waits, arrives, fences, meets or commits.
struct used_site {
  std::string kind; ///< wait, arrive, fence, barrier, commit, acquire or release
  std::string what; ///< the lane function
  std::string file;
  int line = 0;
  int step = 0; ///< of what is called there: see `site`
  std::uint64_t times = 0;
};

/// Those of one place in the source.
struct site_choice {
  std::string file; ///< the end of its name
  int line = 0;
  int step = 0; ///< 0: all
};

struct statistics {
  std::uint64_t switches = 0;    ///< between fibers
  std::uint64_t collectives = 0; ///< of warps
  std::uint64_t products = 0;    ///< mma and wgmma instructions
  std::uint64_t copies = 0;      ///< asynchronous
  std::vector<used_site> sites;
};

/// What a piece of work may touch in global memory.
class announced_accesses {
public:
  virtual ~announced_accesses() = default;
  [[nodiscard]] virtual bool include(void const* address, std::size_t bytes, bool write) const = 0;
  /// What is wrong with an access that is not included, in words that go on from "...: ".
  [[nodiscard]] virtual std::string why_not(void const* address, std::size_t bytes, bool write) const = 0;
};

struct options {
  /// 0: threads run in turn. Others: a schedule of its own with stalled warps and unfair CTAs, the same on every run.
  std::uint64_t seed = 0;
  completion asynchronous = completion::by_seed;
  /// Whether accesses are checked for races and proxy fences. Bounds and unwritten memory are checked always.
  bool races = true;
  /// Whether reductions over a warp and rows of matrix products are done in one meeting of their lanes instead of
  /// instruction by instruction. The results are the same bits.
  bool batched = false;
  /// Nothing but polls for so long, in the kernel's own time (`clock_ns`): a livelock.
  std::chrono::nanoseconds patience = std::chrono::seconds(30);
  /// So many turns of threads in which nothing is written and no copy or product ends: a livelock too.
  std::uint64_t most_idle_turns = 50'000'000;
  /// Called where a thread begins a piece of work (`begin_work`): what it may touch until it ends it. Null: anything.
  std::function<std::shared_ptr<announced_accesses const>(void const* what)> announced{};
  /// Called where only words of the host can let the kernel go on. Returns how much time has passed. Without it time
  /// jumps to where a thread would look again.
  std::function<std::chrono::nanoseconds()> idle{};
  /// The wait, arrival, fence, barrier or commit at this place in the source does nothing; an atomic access there
  /// orders nothing.
  std::optional<site_choice> deleted_site{};
  /// Whether `statistics::sites` are wanted.
  bool list_sites = false;
  /// Called after a launch without a fault, by the thread that ran it: for those who do not see what `launch` returns.
  std::function<void(statistics const&)> on_end{};
};

namespace detail {
inline constexpr std::size_t most_argument_bytes = 4096;
statistics launch(grid const&, options const&, void (*entry)(void* own), void const* arguments, std::size_t bytes);
} // namespace detail

/// Runs `body` as every thread of the grid and returns when all have ended. As on a GPU, each thread has its own copy
/// of what the body holds, and may not follow pointers to memory of the host: a body captures by value. Throws `fault`;
/// threads are then left where they are, and destructors of their locals do not run. Throws std::invalid_argument for a
/// grid that cannot be. Several launches may run at the same time, each in its own thread of the host, on memory of
/// their own.
template <class Body> statistics launch(grid const& g, options const& o, Body const& body) {
  static_assert(std::is_trivially_copyable_v<Body>, "what a kernel is given is copied byte by byte");
  static_assert(sizeof(Body) <= detail::most_argument_bytes, "a kernel is given at most 4,096 bytes");
  return detail::launch(g, o, [](void* own) { (*static_cast<Body*>(own))(); }, &body, sizeof body);
}

} // namespace tylo::emulator
