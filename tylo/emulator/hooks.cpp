/// Every access to memory in emulated code calls one of these first: the compiler's instrumentation for its thread
/// sanitizer (-fsanitize=thread), whose run-time library is not linked. GCC and Clang share these names.

#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/internal/grid.hpp>
#include <megakernels/tylo/emulator/internal/products.hpp>
#include <megakernels/tylo/emulator/internal/program_image.hpp>

namespace tylo::emulator {
namespace {

[[gnu::noinline]] void check_elsewhere(thread& self, std::byte const* address, std::size_t bytes, bool write,
                                       code_position position) {
  auto& state = *launch_now;
  if (self.context.contains(address)) {
    if (self.sums) check_own_access(self, address, bytes, write, position);
    return;
  }
  auto const section = section_of(address);
  if (section == program_section::constants || (section == program_section::variables && !write)) return;
  state.raise(fault_kind::bounds, std::string("a ") + (write ? "write" : "read") + " of " + std::to_string(bytes) +
                                      " bytes at " + name_of_address(address) +
                                      ", which is neither memory of the device nor the thread's own");
}

inline void on_access(void const* start, std::size_t bytes, bool write, bool aligned, void const* return_address) {
  auto* const self = armed_thread;
  if (self == nullptr) return; // the host's own code, or the emulator's
  inside_emulator const inside;
  launch_now->count_access();
  auto const* const address = static_cast<std::byte const*>(start);
  auto const position = position_of(return_address);
  if (!the_arena.contains(address)) return check_elsewhere(*self, address, bytes, write, position);
  if (aligned && reinterpret_cast<std::uintptr_t>(address) % bytes != 0) [[unlikely]]
    launch_now->raise(fault_kind::alignment, std::string("a ") + (write ? "write" : "read") + " of " +
                                                 std::to_string(bytes) + " bytes at " + name_of_address(address));
  check_access(address, bytes, {.write = write, .object = bytes > 16}, position, {});
}

} // namespace
} // namespace tylo::emulator

#define TYLO_HOOKS(bytes)                                                                                              \
  extern "C" void __tsan_read##bytes(void* p) {                                                                        \
    tylo::emulator::on_access(p, bytes, false, true, __builtin_return_address(0));                                     \
  }                                                                                                                    \
  extern "C" void __tsan_write##bytes(void* p) {                                                                       \
    tylo::emulator::on_access(p, bytes, true, true, __builtin_return_address(0));                                      \
  }                                                                                                                    \
  extern "C" void __tsan_unaligned_read##bytes(void* p) {                                                              \
    tylo::emulator::on_access(p, bytes, false, false, __builtin_return_address(0));                                    \
  }                                                                                                                    \
  extern "C" void __tsan_unaligned_write##bytes(void* p) {                                                             \
    tylo::emulator::on_access(p, bytes, true, false, __builtin_return_address(0));                                     \
  }

TYLO_HOOKS(1)
TYLO_HOOKS(2)
TYLO_HOOKS(4)
TYLO_HOOKS(8)
TYLO_HOOKS(16)

extern "C" void __tsan_read_range(void* p, unsigned long bytes) {
  tylo::emulator::on_access(p, bytes, false, false, __builtin_return_address(0));
}
extern "C" void __tsan_write_range(void* p, unsigned long bytes) {
  tylo::emulator::on_access(p, bytes, true, false, __builtin_return_address(0));
}
extern "C" void __tsan_vptr_update(void**, void*) {}
extern "C" void __tsan_vptr_read(void**) {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_init() {}

// Atomics of the C++ library. The host's own code may use them; a kernel has those of tylo/lane/memory.hpp.

namespace tylo::emulator {
namespace {

void expect_host() {
  if (armed_thread == nullptr) return;
  inside_emulator const inside;
  launch_now->raise(fault_kind::misuse,
                    "an atomic of the C++ library in a kernel: tylo/lane/memory.hpp has those of the device");
}

} // namespace
} // namespace tylo::emulator

#define TYLO_READ_MODIFY_WRITE(bits, type, name)                                                                       \
  extern "C" type __tsan_atomic##bits##_fetch_##name(type volatile* p, type v, int) {                                  \
    tylo::emulator::expect_host();                                                                                     \
    return __atomic_fetch_##name(p, v, __ATOMIC_SEQ_CST);                                                              \
  }

#define TYLO_ATOMICS(bits, type)                                                                                       \
  extern "C" type __tsan_atomic##bits##_load(type const volatile* p, int) {                                            \
    tylo::emulator::expect_host();                                                                                     \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                                       \
  }                                                                                                                    \
  extern "C" void __tsan_atomic##bits##_store(type volatile* p, type v, int) {                                         \
    tylo::emulator::expect_host();                                                                                     \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                                          \
  }                                                                                                                    \
  extern "C" type __tsan_atomic##bits##_exchange(type volatile* p, type v, int) {                                      \
    tylo::emulator::expect_host();                                                                                     \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                                                \
  }                                                                                                                    \
  extern "C" int __tsan_atomic##bits##_compare_exchange_strong(type volatile* p, type* c, type v, int, int) {          \
    tylo::emulator::expect_host();                                                                                     \
    return __atomic_compare_exchange_n(p, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ? 1 : 0;                    \
  }                                                                                                                    \
  extern "C" int __tsan_atomic##bits##_compare_exchange_weak(type volatile* p, type* c, type v, int, int) {            \
    tylo::emulator::expect_host();                                                                                     \
    return __atomic_compare_exchange_n(p, c, v, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ? 1 : 0;                     \
  }                                                                                                                    \
  TYLO_READ_MODIFY_WRITE(bits, type, add)                                                                              \
  TYLO_READ_MODIFY_WRITE(bits, type, sub)                                                                              \
  TYLO_READ_MODIFY_WRITE(bits, type, and)                                                                              \
  TYLO_READ_MODIFY_WRITE(bits, type, or)                                                                               \
  TYLO_READ_MODIFY_WRITE(bits, type, xor)

TYLO_ATOMICS(8, unsigned char)
TYLO_ATOMICS(16, unsigned short)
TYLO_ATOMICS(32, unsigned)
TYLO_ATOMICS(64, unsigned long)

extern "C" void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
extern "C" void __tsan_atomic_signal_fence(int) {}
