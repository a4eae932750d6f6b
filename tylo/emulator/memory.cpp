#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/memory.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace tylo::emulator {

arena the_arena;

namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t distance = 65536; ///< of two allocations: accesses that far outside are found
constexpr std::size_t page = 4096;

struct part {
  std::size_t offset; ///< in its piece
  std::size_t bytes;
  std::string name;

  friend bool operator==(part const&, part const&) = default;
};

struct piece {
  std::size_t bytes; ///< that are memory
  std::string name;
  std::vector<part> parts{};
};

struct registry {
  std::mutex mutex;
  std::map<std::size_t, piece> pieces;       ///< by offset
  std::map<std::size_t, std::size_t> unused; ///< offset and size
  std::vector<bool> taken_slots = std::vector<bool>(shared_slots);
};

registry& the_registry() {
  static registry r;
  return r;
}

void* reserve(std::size_t bytes) {
  auto* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  return start;
}

std::size_t whole(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// Zero again, and given back to the system where whole pages are.
void clear(void* start, std::size_t bytes) {
  auto* const first = static_cast<std::byte*>(start);
  auto const address = reinterpret_cast<std::uintptr_t>(first);
  auto const begin = (address + page - 1) / page * page, end = (address + bytes) / page * page;
  if (begin >= end) {
    std::memset(first, 0, bytes);
    return;
  }
  std::memset(first, 0, begin - address);
  (void)madvise(first + (begin - address), end - begin, MADV_DONTNEED);
  std::memset(first + (end - address), 0, address + bytes - end);
}

void release(std::size_t offset) {
  auto& r = the_registry();
  std::lock_guard const lock(r.mutex);
  auto const found = r.pieces.find(offset);
  auto const bytes = whole(found->second.bytes);
  clear(the_arena.memory + offset, bytes);
  clear(the_arena.states + offset, bytes);
  clear(the_arena.cells + offset / 4, bytes / 4 * sizeof(race_cell));
  r.pieces.erase(found);
  auto at = r.unused.emplace(offset, bytes + distance).first;
  if (auto const next = std::next(at); next != r.unused.end() && at->first + at->second == next->first) {
    at->second += next->second;
    r.unused.erase(next);
  }
  if (at == r.unused.begin()) return;
  if (auto const before = std::prev(at); before->first + before->second == at->first) {
    before->second += at->second;
    r.unused.erase(at);
  }
}

void set_states(void const* memory, std::size_t bytes, std::uint8_t set, std::uint8_t cleared) {
  auto* const states = the_arena.states + the_arena.offset_of(memory);
  for (std::size_t i = 0; i < bytes; ++i) states[i] = static_cast<std::uint8_t>((states[i] & ~cleared) | set);
}

} // namespace

void reserve_arena() {
  static bool const done = [] {
    the_arena.states = static_cast<std::uint8_t*>(reserve(arena_bytes));
    the_arena.cells = static_cast<race_cell*>(reserve(arena_bytes / 4 * sizeof(race_cell)));
    the_arena.memory = static_cast<std::byte*>(reserve(arena_bytes));
    the_registry().unused.emplace(alignment, global_bytes - alignment);
    return true;
  }();
  (void)done;
}

std::shared_ptr<std::byte> allocate(std::size_t bytes, contents fresh, std::string_view name) {
  reserve_arena();
  auto& r = the_registry();
  auto const size = whole(std::max<std::size_t>(bytes, 1));
  std::size_t offset = 0;
  {
    std::lock_guard const lock(r.mutex);
    auto const found =
        std::find_if(r.unused.begin(), r.unused.end(), [&](auto const& u) { return u.second >= size + distance; });
    if (found == r.unused.end()) throw std::bad_alloc();
    auto const [start, left] = *found;
    r.unused.erase(found);
    if (left > size + distance) r.unused.emplace(start + size + distance, left - size - distance);
    offset = start;
    r.pieces.emplace(offset, piece{std::max<std::size_t>(bytes, 1), std::string(name)});
  }
  auto* const memory = the_arena.memory + offset;
  std::memset(the_arena.states + offset, fresh == contents::zero ? allocated | written : allocated, bytes);
  if (fresh == contents::unwritten) std::memset(memory, 0xFF, bytes);
  return {memory, [offset](std::byte*) { release(offset); }};
}

void copy_in(std::byte* to, std::byte const* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  mark_written(to, bytes);
}
void copy_out(std::byte* to, std::byte const* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void set_to_zero(std::byte* memory, std::size_t bytes) {
  std::memset(memory, 0, bytes);
  mark_written(memory, bytes);
}
void mark_written(void const* memory, std::size_t bytes) { set_states(memory, bytes, written, 0); }
void mark_unwritten(void* memory, std::size_t bytes) {
  std::memset(memory, 0xFF, bytes);
  set_states(memory, bytes, 0, written);
}
void mark_constant(void const* memory, std::size_t bytes) { set_states(memory, bytes, constant, 0); }

void name_part(void const* at, std::size_t bytes, std::string_view name) {
  auto const offset = the_arena.offset_of(at);
  auto& r = the_registry();
  std::lock_guard const lock(r.mutex);
  auto const after = r.pieces.upper_bound(offset);
  if (after == r.pieces.begin()) return;
  auto& [start, whole] = *std::prev(after);
  part named{offset - start, bytes, std::string(name)};
  if (named.offset >= whole.bytes) return;
  if (whole.name.empty() && named.offset == 0 && bytes >= whole.bytes)
    whole.name = named.name;
  else if (whole.name != name && std::find(whole.parts.begin(), whole.parts.end(), named) == whole.parts.end())
    whole.parts.push_back(std::move(named));
}

bool is_device_memory(void const* address) noexcept {
  return the_arena.memory != nullptr && the_arena.contains(address);
}

std::size_t take_shared_slots(std::size_t count) {
  reserve_arena();
  auto& r = the_registry();
  std::lock_guard const lock(r.mutex);
  for (std::size_t first = 0, run = 0, i = 0; i < shared_slots; ++i) {
    run = r.taken_slots[i] ? 0 : run + 1;
    if (run < count) continue;
    first = i + 1 - count;
    std::fill_n(r.taken_slots.begin() + static_cast<std::ptrdiff_t>(first), count, true);
    return first;
  }
  throw std::bad_alloc();
}

void give_shared_slots(std::size_t first, std::size_t count) {
  auto& r = the_registry();
  std::lock_guard const lock(r.mutex);
  std::fill_n(r.taken_slots.begin() + static_cast<std::ptrdiff_t>(first), count, false);
}

std::string describe_global(std::size_t offset) {
  auto& r = the_registry();
  std::lock_guard const lock(r.mutex);
  auto const after = r.pieces.upper_bound(offset);
  if (after == r.pieces.begin()) return "before all global memory";
  auto const& [start, p] = *std::prev(after);
  auto const name = p.name.empty() ? std::string("global memory") : "global memory '" + p.name + "'";
  if (offset < start + p.bytes) {
    std::string parts;
    for (auto const& part : p.parts)
      if (offset - start - part.offset < part.bytes)
        parts += (parts.empty() ? " (byte " : ", byte ") + std::to_string(offset - start - part.offset) + " of '" +
                 part.name + "'";
    return "byte " + std::to_string(offset - start) + " of " + name + " of " + std::to_string(p.bytes) + " bytes" +
           (parts.empty() ? "" : parts + ")");
  }
  return std::to_string(offset - start - p.bytes) + " bytes past the end of " + name + " of " +
         std::to_string(p.bytes) + " bytes";
}

} // namespace tylo::emulator
