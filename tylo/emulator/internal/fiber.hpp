#pragma once

/// Stacks that run in turn on one thread of the host. Boost.Context switches them: by its fcontext functions, since its
/// `fiber` class, no faster, unwinds a stack that is given up, and the threads of a kernel that failed are left as they
/// are.

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define TYLO_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TYLO_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(TYLO_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#endif

namespace tylo::emulator {

/// Something that can be switched to: a stack of a `fiber_set`, or the host's own, which needs no making. No exception
/// leaves it, and it does not switch while it handles one: the C++ library keeps a list of those for each thread of the
/// host.
struct fiber {
  boost::context::detail::fcontext_t where = nullptr;
  std::byte const* bottom = nullptr;
  std::size_t bytes = 0;
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
  fiber* target = nullptr; ///< that it last switched to
#if defined(TYLO_ADDRESS_SANITIZER)
  void* fake_stack = nullptr; ///< where the sanitizer keeps locals while this one does not run

  fiber() = default;
  ~fiber() { drop_fake_stack(); }
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;
  /// It is not going to run on.
  void drop_fake_stack() noexcept;
  /// For one that has just begun to run: the sanitizer knows the host's own stack.
  static void arrive(void* own_fake_stack, fiber& before) {
    void const* from = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(own_fake_stack, &from, &size);
    if (before.bottom != nullptr) return;
    before.bottom = static_cast<std::byte const*>(from);
    before.bytes = size;
  }
#endif

  /// Whether an address lies on this stack.
  [[nodiscard]] bool contains(void const* address) const noexcept {
    return static_cast<std::size_t>(static_cast<std::byte const*>(address) - bottom) < bytes;
  }
};

/// Goes on where `to`, another, left off, or at its entry. Returns when something switches back to `from`. About 10 ns
/// with up to 1024 fibers; 40 ns with ten thousand, whose stacks do not fit in the caches.
inline void switch_to(fiber& from, fiber& to) {
  from.target = &to;
#if defined(TYLO_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.bytes);
#endif
  auto const back = boost::context::detail::jump_fcontext(to.where, &from);
  // Whoever switched here has given its own place.
  auto& before = *static_cast<fiber*>(back.data);
  before.where = back.fctx;
#if defined(TYLO_ADDRESS_SANITIZER)
  fiber::arrive(std::exchange(from.fake_stack, nullptr), before);
#endif
}

/// Stacks for the fibers of a launch. They come from a pool, and go back to it whatever runs on them. A stack that
/// overflows ends the program: at once, or, in sets of thousands, when the set ends.
class fiber_set {
public:
  /// Throws std::bad_alloc.
  explicit fiber_set(std::size_t count);
  ~fiber_set();
  fiber_set(fiber_set const&) = delete;
  fiber_set& operator=(fiber_set const&) = delete;

  /// Makes `f` start `entry(argument)`, which never returns, when it is first switched to, on stack number `index`.
  void make(std::size_t index, fiber& f, void (*entry)(void*), void* argument) const;

private:
  struct block;
  std::unique_ptr<block> stacks_;
  std::size_t count_;
};

} // namespace tylo::emulator
