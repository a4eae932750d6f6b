#pragma once

/// Global memory that several CTAs, or the device and the host, write and read at the same time. Everything else is
/// ordinary C++ access, ordered by these. PTX ISA: memory consistency model. Words have 4 or 8 bytes.

#include <megakernels/tylo/emulator/lane.hpp>
#include <megakernels/tylo/lane/thread.hpp>
#include <megakernels/tylo/site.hpp>
#include <megakernels/tylo/target.hpp>

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda/atomic>
#endif

namespace tylo {

namespace detail {
#if defined(__CUDACC__)
template <class T> using device_ref = cuda::atomic_ref<T, cuda::thread_scope_device>;
template <class T> using system_ref = cuda::atomic_ref<T, cuda::thread_scope_system>;
#endif
template <class T> T load_emulated(T const* from, emulator::order order, bool of_host, site at) {
  return from_word<T>(emulator::load_word(from, sizeof(T), order, of_host, at));
}
template <class T> void store_emulated(T* to, T value, emulator::order order, bool of_host, site at) {
  emulator::store_word(to, sizeof(T), to_word(value), order, of_host, at);
}
} // namespace detail

/// Reads a word that other CTAs write. What they did before their release is visible afterwards.
template <class T> TYLO_FN T load_acquire(T* from, site at = site::here()) {
  TYLO_EITHER(return detail::device_ref<T>(*from).load(cuda::memory_order_acquire),
                     return detail::load_emulated(from, emulator::order::acquire, false, at));
}
template <class T> TYLO_FN T load_relaxed(T* from, site at = site::here()) {
  TYLO_EITHER(return detail::device_ref<T>(*from).load(cuda::memory_order_relaxed),
                     return detail::load_emulated(from, emulator::order::relaxed, false, at));
}
template <class T> TYLO_FN void store_release(T* to, T value, site at = site::here()) {
  TYLO_EITHER(detail::device_ref<T>(*to).store(value, cuda::memory_order_release),
              detail::store_emulated(to, value, emulator::order::release, false, at));
}
template <class T> TYLO_FN void store_relaxed(T* to, T value, site at = site::here()) {
  TYLO_EITHER(detail::device_ref<T>(*to).store(value, cuda::memory_order_relaxed),
              detail::store_emulated(to, value, emulator::order::relaxed, false, at));
}

/// Adds to a word. What this thread did or saw before is visible to whoever acquires the sum.
template <class T> TYLO_FN void add_release(T* to, T value, site at = site::here()) {
  TYLO_EITHER((void)detail::device_ref<T>(*to).fetch_add(value, cuda::memory_order_release),
              (void)emulator::add_word(to, sizeof(T), detail::to_word(value), emulator::order::release, at));
}
/// Adds, and returns what was there before; releases and acquires.
template <class T> TYLO_FN T add_acquire_release(T* to, T value, site at = site::here()) {
  TYLO_EITHER(return detail::device_ref<T>(*to).fetch_add(value, cuda::memory_order_acq_rel),
                     return detail::from_word<T>(emulator::add_word(to, sizeof(T), detail::to_word(value),
                                                                    emulator::order::acquire_release, at)));
}
/// Writes `value` if the word is `expected`; whether it did. Releases and acquires.
template <class T> TYLO_FN bool exchange_if(T* at, T expected, T value, site where = site::here()) {
  TYLO_EITHER(return detail::device_ref<T>(*at).compare_exchange_strong(expected, value, cuda::memory_order_acq_rel),
                     return emulator::exchange_word_if(at, sizeof(T), detail::to_word(expected), detail::to_word(value),
                                                       where));
}

/// The same towards the host: words in mapped host memory.
template <class T> TYLO_FN T load_acquire_system(T* from, site at = site::here()) {
  TYLO_EITHER(return detail::system_ref<T>(*from).load(cuda::memory_order_acquire),
                     return detail::load_emulated(from, emulator::order::acquire, true, at));
}
template <class T> TYLO_FN void store_release_system(T* to, T value, site at = site::here()) {
  TYLO_EITHER(detail::system_ref<T>(*to).store(value, cuda::memory_order_release),
              detail::store_emulated(to, value, emulator::order::release, true, at));
}

} // namespace tylo
