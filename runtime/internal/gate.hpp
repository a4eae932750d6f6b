#pragma once

/// Waiting between threads: look for a while, then sleep until woken.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace mk::detail {

inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Looks for a while before its owner sleeps, longer where looking has helped lately and hardly at all where it has
/// not: on a core of its own a waiting thread is there at once, on a shared one it stands in nobody's way. (Giving the
/// core away instead of sleeping costs whole time slices when other processes run.)
class spinner {
public:
  static constexpr int least = 16;
  static constexpr int most = 2048; ///< 25 to 100 microseconds

  explicit spinner(int looks) : looks_(looks) {}

  /// True as soon as `ready()` is, false when patience has ended.
  template <class Ready> bool spin(Ready const& ready) {
    if (ready()) return true;
    for (int i = 0; i < looks_; ++i) {
      relax();
      if (!ready()) continue;
      looks_ = std::min(looks_ * 2, most);
      return true;
    }
    looks_ = std::max(looks_ / 2, least);
    return false;
  }

private:
  int looks_;
};

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

  template <class Ready> void wait(Ready const& ready, spinner& before) const {
    if (before.spin(ready)) return;
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
