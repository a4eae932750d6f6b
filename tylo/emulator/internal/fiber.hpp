#pragma once

/// Stacks that run in turn on one thread of the host. Boost.Context switches them: by its fcontext functions, since
/// those of its `fiber` class unwind a stack that is given up, and the threads of a kernel that failed are left as they
/// are.

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace tylo::emulator {

/// Something that can be switched to: a stack of a `fiber_set`, or the host's own, which needs no making.
struct fiber {
  boost::context::detail::fcontext_t where = nullptr;
  std::byte const* bottom = nullptr;
  std::size_t bytes = 0;
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
  fiber* target = nullptr; ///< that it last switched to
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
#endif

  /// Whether an address lies on this stack.
  [[nodiscard]] bool contains(void const* address) const noexcept {
    return static_cast<std::size_t>(static_cast<std::byte const*>(address) - bottom) < bytes;
  }
};

/// Goes on where `to` left off, or at its entry. Returns when something switches back to `from`.
inline void switch_to(fiber& from, fiber& to) {
  from.target = &to;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.bytes);
#endif
  auto const back = boost::context::detail::jump_fcontext(to.where, &from);
  // Whoever switched here has given its own place.
  static_cast<fiber*>(back.data)->where = back.fctx;
#if defined(__SANITIZE_ADDRESS__)
  auto* const before = static_cast<fiber*>(back.data);
  void const* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(from.fake_stack, &bottom, &bytes);
  if (before->bottom == nullptr) {
    before->bottom = static_cast<std::byte const*>(bottom);
    before->bytes = bytes;
  }
#endif
}

/// Stacks for the fibers of a launch. They come from a pool, and go back to it whatever runs on them.
class fiber_set {
public:
  explicit fiber_set(std::size_t count);
  ~fiber_set();
  fiber_set(fiber_set const&) = delete;
  fiber_set& operator=(fiber_set const&) = delete;

  /// Makes `f` start `entry(argument)`, which never returns, when it is first switched to, on stack number `index`.
  void make(std::size_t index, fiber& f, void (*entry)(void*), void* argument) const;

private:
  struct block;
  std::unique_ptr<block> stacks_;
};

} // namespace tylo::emulator
