#pragma once

/// Waiting between threads: look a few times, give way a few times, then sleep until woken.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace mk::detail {

/// How long to look before sleeping.
struct patience {
  int spins = 0;  ///< looks, a few nanoseconds apart
  int yields = 0; ///< looks after giving the core away
};

inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// True as soon as `ready()` is, false when patience has ended.
template <class Ready> bool wait_briefly(Ready const& ready, patience limit) {
  for (int i = 0; i < limit.spins; ++i) {
    if (ready()) return true;
    relax();
  }
  for (int i = 0; i < limit.yields; ++i) {
    if (ready()) return true;
    std::this_thread::yield();
  }
  return ready();
}

/// A place to sleep for a condition on atomics. Who makes the condition true writes it sequentially consistently and
/// then calls `wake`, which costs one load while nobody sleeps. Conditions are read sequentially consistently: of a
/// sleeper that counts itself and then looks, and a waker that writes and then looks for sleepers, one sees the other.
class gate {
public:
  /// Sleeps until `ready()`, at most `limit`; returns `ready()`.
  template <class Ready> bool sleep_for(Ready const& ready, std::chrono::nanoseconds limit) const {
    std::unique_lock lock(mutex_);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    bool const result = woken_.wait_for(lock, limit, ready);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return result;
  }

  template <class Ready> void wait(Ready const& ready, patience limit) const {
    if (wait_briefly(ready, limit)) return;
    std::unique_lock lock(mutex_);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    woken_.wait(lock, ready);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

  void wake() const {
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    // A sleeper that has looked but does not sleep yet holds the mutex.
    {
      std::lock_guard const lock(mutex_);
    }
    woken_.notify_all();
  }

private:
  mutable std::mutex mutex_;
  mutable std::condition_variable woken_;
  mutable std::atomic<std::uint32_t> sleepers_ = 0;
};

} // namespace mk::detail
