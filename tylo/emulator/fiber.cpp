#include <megakernels/tylo/emulator/internal/fiber.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#if defined(TYLO_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace tylo::emulator {
namespace {

constexpr std::size_t page = 4096;
#if defined(TYLO_ADDRESS_SANITIZER)
constexpr std::size_t stack_bytes = 256 * 1024;
#else
constexpr std::size_t stack_bytes = 128 * 1024;
#endif
/// A page below each stack that nothing may touch; and one more, since stacks whose distance is a power of two share
/// lines of the first-level cache.
constexpr std::size_t pitch = stack_bytes + 2 * page;
/// Stacks of the process whose page below is a guard: each takes two of the 65,530 mappings that a process may have.
/// In sets that get none, that page holds words which must not change.
constexpr std::size_t most_guards = 8000;
constexpr std::uint64_t untouched = 0x5AFE57AC5AFE57ACu;
constexpr std::size_t bytes_between_words = 512;

} // namespace

struct fiber_set::block {
  block(std::size_t stacks, bool guards) : count(stacks), guarded(guards) {
    auto* const start =
        mmap(nullptr, count * pitch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) throw std::bad_alloc();
    memory = static_cast<std::byte*>(start);
    for (std::size_t i = 0; i < count; ++i) {
      if (!guarded)
        for (std::size_t b = 0; b < page; b += bytes_between_words)
          std::memcpy(below(i) + b, &untouched, sizeof untouched);
      else if (mprotect(below(i), page, PROT_NONE) != 0) {
        (void)munmap(memory, count * pitch);
        throw std::bad_alloc();
      }
    }
  }
  ~block() { (void)munmap(memory, count * pitch); }
  block(block const&) = delete;
  block& operator=(block const&) = delete;

  /// The page below a stack.
  [[nodiscard]] std::byte* below(std::size_t index) const { return memory + index * pitch; }

  /// Ends the program where one of the first stacks has overflowed.
  void check(std::size_t used) const {
    for (std::size_t i = 0; i < used && !guarded; ++i)
      for (std::size_t b = 0; b < page; b += bytes_between_words) {
        if (std::memcmp(below(i) + b, &untouched, sizeof untouched) == 0) continue;
        (void)std::fprintf(stderr, "emulator: the stack of thread %zu overflowed: it has %zu bytes\n", i, stack_bytes);
        std::abort();
      }
  }

  std::byte* memory = nullptr;
  std::size_t count;
  bool guarded;
};

namespace {

/// Blocks that no launch uses, the smallest first; few are kept.
template <class Block> struct block_pool {
  static constexpr std::size_t most = 4;
  std::mutex mutex;
  std::vector<std::unique_ptr<Block>> unused;
  std::size_t guards = 0; ///< of blocks in use and unused

  std::unique_ptr<Block> take(std::size_t count) {
    std::lock_guard const lock(mutex);
    bool const wants_guards = guards + count <= most_guards;
    auto const at = std::find_if(unused.begin(), unused.end(),
                                 [&](auto const& b) { return b->count >= count && (b->guarded || !wants_guards); });
    if (at != unused.end()) {
      auto found = std::move(*at);
      unused.erase(at);
      return found;
    }
    auto made = std::make_unique<Block>(count, wants_guards);
    if (made->guarded) guards += count;
    return made;
  }
  void give(std::unique_ptr<Block> b) {
    std::lock_guard const lock(mutex);
    auto const at = std::find_if(unused.begin(), unused.end(), [&](auto const& u) { return u->count >= b->count; });
    unused.insert(at, std::move(b));
    if (unused.size() <= most) return;
    if (unused.front()->guarded) guards -= unused.front()->count;
    unused.erase(unused.begin());
  }
};

template <class Block> block_pool<Block>& the_pool() {
  static block_pool<Block> pool;
  return pool;
}

void start(boost::context::detail::transfer_t from) noexcept {
#if defined(__x86_64__)
  asm volatile(".cfi_undefined rip"); // nothing called this: whoever follows the calls stops here
#elif defined(__aarch64__)
  asm volatile(".cfi_undefined x30");
#endif
  auto& before = *static_cast<fiber*>(from.data);
  before.where = from.fctx;
#if defined(TYLO_ADDRESS_SANITIZER)
  fiber::arrive(nullptr, before);
#endif
  auto const& self = *before.target;
  self.entry(self.argument);
  std::abort(); // it never returns
}

} // namespace

#if defined(TYLO_ADDRESS_SANITIZER)
__attribute__((no_sanitize_address)) void fiber::drop_fake_stack() noexcept {
  if (fake_stack == nullptr) return;
  // The sanitizer drops that of a fiber which leaves for good: as if this one ran for a moment and did.
  void* own = nullptr;
  void const* from = nullptr;
  std::size_t size = 0;
  __sanitizer_start_switch_fiber(&own, bottom, bytes);
  __sanitizer_finish_switch_fiber(std::exchange(fake_stack, nullptr), &from, &size);
  __sanitizer_start_switch_fiber(nullptr, from, size);
  __sanitizer_finish_switch_fiber(own, nullptr, nullptr);
}
#endif

fiber_set::fiber_set(std::size_t count) : stacks_(the_pool<block>().take(count)), count_(count) {}

fiber_set::~fiber_set() {
#if defined(TYLO_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(stacks_->memory, stacks_->count * pitch); // frames that were left as they were
#endif
  stacks_->check(count_);
  the_pool<block>().give(std::move(stacks_));
}

void fiber_set::make(std::size_t index, fiber& f, void (*entry)(void*), void* argument) const {
#if defined(TYLO_ADDRESS_SANITIZER)
  f.drop_fake_stack();
#endif
  // Tops lie at different lines of a page: the same frames of all stacks would share one.
  constexpr std::size_t line = 64, colours = page / line;
  auto* const bottom = stacks_->below(index) + page;
  auto* const top = bottom + stack_bytes + page - index * 3 % colours * line;
  f.bottom = bottom;
  f.bytes = static_cast<std::size_t>(top - bottom);
  f.entry = entry;
  f.argument = argument;
  f.where = boost::context::detail::make_fcontext(top, f.bytes, &start);
}

} // namespace tylo::emulator
