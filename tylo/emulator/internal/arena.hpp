#pragma once

/// Where the memory of the emulated device lies: one range of addresses of the process, with a byte of state for each
/// byte of it and cells of the race detector for each word, both at a fixed distance.

#include <megakernels/tylo/emulator/internal/race.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tylo::emulator {

/// Bits of the state of a byte. Without `allocated` it is no memory.
enum byte_state : std::uint8_t {
  allocated = 1,
  written = 2,
  constant = 4,     ///< nothing may write it
  barrier_word = 8, ///< only mbarrier instructions may touch it
  arriving = 16,    ///< an asynchronous operation is going to write it
};

/// Global memory first; then shared memory, each CTA's in a slot of its own.
inline constexpr std::size_t global_bytes = std::size_t(16) << 30;
inline constexpr std::size_t shared_pitch = std::size_t(1) << 19;
inline constexpr std::size_t shared_slots = 2048;
inline constexpr std::size_t arena_bytes = global_bytes + shared_slots * shared_pitch;

struct arena {
  std::byte* memory = nullptr;
  std::uint8_t* states = nullptr;
  race_cell* cells = nullptr;

  /// Bytes from the start; at least `arena_bytes` for what lies elsewhere.
  [[nodiscard]] std::size_t offset_of(void const* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(memory);
  }
  [[nodiscard]] bool contains(void const* address) const noexcept { return offset_of(address) < arena_bytes; }
};

/// The one of the process; made by the first use of `reserve_arena`. Throws std::bad_alloc where addresses are short.
extern arena the_arena;
void reserve_arena();

/// Slots of shared memory, one after another. Throws std::bad_alloc.
std::size_t take_shared_slots(std::size_t count);
void give_shared_slots(std::size_t first, std::size_t count);
inline std::size_t shared_offset(std::size_t slot) { return global_bytes + slot * shared_pitch; }

/// The allocation around or next to an offset, in words, for reports.
std::string describe_global(std::size_t offset);

} // namespace tylo::emulator
