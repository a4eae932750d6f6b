/// Every access to memory in emulated code calls one of these first: the compiler's instrumentation for its thread
/// sanitizer (-fsanitize=thread), whose run-time library is not linked. GCC and Clang share these names.

#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/internal/grid.hpp>
#include <megakernels/tylo/emulator/internal/program_image.hpp>

namespace tylo::emulator {
namespace {

[[gnu::noinline]] void check_elsewhere(thread& self, std::byte const* address, std::size_t bytes, bool write,
                                       code_position position) {
  auto& state = *launch_now;
  if (self.context.contains(address)) {
    if (address < self.sums + self.sums_bytes && address + bytes > self.sums)
      state.raise(fault_kind::products,
                  "the sums of a warpgroup product are used before await_products, at " + describe(position));
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
  auto const* const address = static_cast<std::byte const*>(start);
  auto const position = position_of(return_address);
  if (!the_arena.contains(address)) return check_elsewhere(*self, address, bytes, write, position);
  if (aligned && reinterpret_cast<std::uintptr_t>(address) % bytes != 0) [[unlikely]]
    launch_now->raise(fault_kind::alignment, std::string("a ") + (write ? "write" : "read") + " of " +
                                                 std::to_string(bytes) + " bytes at " + name_of_address(address));
  check_access(address, bytes, {.write = write}, position, {});
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

/// Guards of local constants: code of the host.
extern "C" unsigned char __tsan_atomic8_load(unsigned char const volatile* p, int) {
  return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
