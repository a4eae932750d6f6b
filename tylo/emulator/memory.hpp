#pragma once

/// Memory of the emulated device. What a kernel may touch is what was allocated here, its own local variables, and
/// constants of the program; all else is out of bounds. Every byte has a state: whether it is memory, written,
/// constant.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace tylo::emulator {

/// What a kernel finds in fresh memory.
enum class contents {
  unwritten, ///< reading it before something was written is a fault; the bytes are NaN in every floating type
  zero,      ///< zero, and may be read
};

/// Global memory at a multiple of 256 bytes, with memory before and behind it that nothing may touch. `name` stands in
/// reports. Throws std::bad_alloc. May be freed by any thread, while no kernel uses it.
std::shared_ptr<std::byte> allocate(std::size_t bytes, contents = contents::unwritten, std::string_view name = {});

/// The host writes or reads memory while no kernel does, or changes what a kernel may do with it. Addresses lie in one
/// allocation.
void copy_in(std::byte* to, std::byte const* from, std::size_t bytes);
void copy_out(std::byte* to, std::byte const* from, std::size_t bytes);
void set_to_zero(std::byte* memory, std::size_t bytes);
/// What the host has written through the pointer itself counts as written from now on.
void mark_written(void const* memory, std::size_t bytes);
/// As if nothing had ever been written there.
void mark_unwritten(void* memory, std::size_t bytes);
/// Kernels may read it, nothing may write it, and reads need no order.
void mark_constant(void const* memory, std::size_t bytes);
/// What reports call a part of an allocation, beside the name of the whole, or all of one that has no name. Parts may
/// overlap.
void name_part(void const* at, std::size_t bytes, std::string_view name);

/// Whether an address lies in memory of the emulated device.
bool is_device_memory(void const* address) noexcept;

/// An array in global memory.
template <class T> class array {
public:
  explicit array(std::size_t count, contents fresh = contents::unwritten, std::string_view name = {})
      : memory_(allocate(count * sizeof(T), fresh, name)), count_(count) {}
  explicit array(std::span<T const> values, std::string_view name = {})
      : array(values.size(), contents::unwritten, name) {
    copy_in(memory_.get(), reinterpret_cast<std::byte const*>(values.data()), values.size_bytes());
  }

  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.get()); }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// For the host, while no kernel runs.
  T& operator[](std::size_t i) const noexcept { return data()[i]; }
  [[nodiscard]] std::span<T> span() const noexcept { return {data(), count_}; }

private:
  std::shared_ptr<std::byte> memory_;
  std::size_t count_;
};

} // namespace tylo::emulator
