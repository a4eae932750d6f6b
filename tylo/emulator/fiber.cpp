#include <megakernels/tylo/emulator/internal/fiber.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace tylo::emulator {
namespace {

constexpr std::size_t page = 4096;
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t stack_bytes = 256 * 1024;
#else
constexpr std::size_t stack_bytes = 64 * 1024;
#endif
/// A page below each stack that nothing may touch; and one more, since stacks whose distance is a power of two share
/// lines of the first-level cache.
constexpr std::size_t pitch = stack_bytes + 2 * page;
/// Mappings are scarce (65,530 a process): larger sets have no guards.
constexpr std::size_t most_guarded = 4096;

} // namespace

struct fiber_set::block {
  explicit block(std::size_t stacks) : count(stacks), guarded(stacks <= most_guarded) {
    auto* const start =
        mmap(nullptr, count * pitch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) throw std::bad_alloc();
    memory = static_cast<std::byte*>(start);
    if (guarded)
      for (std::size_t i = 0; i < count; ++i) (void)mprotect(memory + i * pitch, page, PROT_NONE);
  }
  ~block() { (void)munmap(memory, count * pitch); }
  block(block const&) = delete;
  block& operator=(block const&) = delete;

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

  std::unique_ptr<Block> take(std::size_t count) {
    std::unique_ptr<Block> dropped;
    std::lock_guard const lock(mutex);
    for (auto at = unused.begin(); at != unused.end(); ++at) {
      if ((*at)->count < count) continue;
      auto found = std::move(*at);
      unused.erase(at);
      return found;
    }
    return std::make_unique<Block>(count);
  }
  void give(std::unique_ptr<Block> b) {
    std::lock_guard const lock(mutex);
    auto const at = std::find_if(unused.begin(), unused.end(), [&](auto const& u) { return u->count >= b->count; });
    unused.insert(at, std::move(b));
    if (unused.size() > most) unused.erase(unused.begin());
  }
};

template <class Block> block_pool<Block>& the_pool() {
  static block_pool<Block> pool;
  return pool;
}

void start(boost::context::detail::transfer_t from) {
  auto* const before = static_cast<fiber*>(from.data);
  before->where = from.fctx;
#if defined(__SANITIZE_ADDRESS__)
  void const* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
  if (before->bottom == nullptr) {
    before->bottom = static_cast<std::byte const*>(bottom);
    before->bytes = bytes;
  }
#endif
  auto const& self = *before->target;
  self.entry(self.argument);
  std::abort(); // it never returns
}

} // namespace

fiber_set::fiber_set(std::size_t count) : stacks_(the_pool<block>().take(count)) {}

fiber_set::~fiber_set() {
#if defined(__SANITIZE_ADDRESS__)
  for (std::size_t i = 0; i < stacks_->count; ++i) // frames that were left as they were
    __asan_unpoison_memory_region(stacks_->memory + i * pitch + page, stack_bytes);
#endif
  the_pool<block>().give(std::move(stacks_));
}

void fiber_set::make(std::size_t index, fiber& f, void (*entry)(void*), void* argument) const {
  // Tops lie at different lines of a page: the same frames of all stacks would share one.
  constexpr std::size_t line = 64, colours = page / line;
  auto* const bottom = stacks_->memory + index * pitch + page;
  auto* const top = bottom + stack_bytes - index * 3 % colours * line;
  f.bottom = bottom;
  f.bytes = static_cast<std::size_t>(top - bottom);
  f.entry = entry;
  f.argument = argument;
  f.where = boost::context::detail::make_fcontext(top, f.bytes, &start);
}

} // namespace tylo::emulator
