#pragma once

/// Global memory that several CTAs, or the device and the host, write and read at the same time. Everything else is
/// ordinary C++ access, ordered by these. PTX ISA: memory consistency model.

#include <megakernels/tylo/target.hpp>

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda/atomic>
#endif

namespace tylo {

#if defined(__CUDACC__)
namespace detail {
template <class T> using device_ref = cuda::atomic_ref<T, cuda::thread_scope_device>;
template <class T> using system_ref = cuda::atomic_ref<T, cuda::thread_scope_system>;
} // namespace detail
#endif

/// Reads a word that other CTAs write. What they did before their release is visible afterwards.
template <class T> TYLO_FN T load_acquire(T* from) {
  TYLO_EITHER(return detail::device_ref<T>(*from).load(cuda::memory_order_acquire), outside_kernel(from));
}
template <class T> TYLO_FN T load_relaxed(T* from) {
  TYLO_EITHER(return detail::device_ref<T>(*from).load(cuda::memory_order_relaxed), outside_kernel(from));
}
template <class T> TYLO_FN void store_release(T* to, T value) {
  TYLO_EITHER(detail::device_ref<T>(*to).store(value, cuda::memory_order_release), outside_kernel(to, value));
}
template <class T> TYLO_FN void store_relaxed(T* to, T value) {
  TYLO_EITHER(detail::device_ref<T>(*to).store(value, cuda::memory_order_relaxed), outside_kernel(to, value));
}

/// Adds to a word. What this thread did or saw before is visible to whoever acquires the sum.
template <class T> TYLO_FN void add_release(T* to, T value) {
  TYLO_EITHER((void)detail::device_ref<T>(*to).fetch_add(value, cuda::memory_order_release), outside_kernel(to, value));
}
/// Adds, and returns what was there before; releases and acquires.
template <class T> TYLO_FN T add_acquire_release(T* to, T value) {
  TYLO_EITHER(return detail::device_ref<T>(*to).fetch_add(value, cuda::memory_order_acq_rel),
                     outside_kernel(to, value));
}
/// Writes `value` if the word is `expected`; whether it did. Releases and acquires.
template <class T> TYLO_FN bool exchange_if(T* at, T expected, T value) {
  TYLO_EITHER(return detail::device_ref<T>(*at).compare_exchange_strong(expected, value, cuda::memory_order_acq_rel),
                     outside_kernel(at, expected, value));
}

/// The same towards the host: words in mapped host memory.
template <class T> TYLO_FN T load_acquire_system(T* from) {
  TYLO_EITHER(return detail::system_ref<T>(*from).load(cuda::memory_order_acquire), outside_kernel(from));
}
template <class T> TYLO_FN void store_release_system(T* to, T value) {
  TYLO_EITHER(detail::system_ref<T>(*to).store(value, cuda::memory_order_release), outside_kernel(to, value));
}

} // namespace tylo
