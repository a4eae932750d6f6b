/// Words in global memory by which CTAs, and the host, tell each other of things. An acquire that sees what a release
/// wrote is ordered after all that came before it; relaxed accesses order nothing.

#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/internal/collective.hpp>
#include <megakernels/tylo/emulator/lane.hpp>

#include <atomic>

namespace tylo::emulator {
namespace {

constexpr bool acquires(order o) { return o == order::acquire || o == order::acquire_release; }
constexpr bool releases(order o) { return o == order::release || o == order::acquire_release; }

std::uint64_t read(void const* from, std::size_t bytes) {
  if (bytes == 8) return __atomic_load_n(static_cast<std::uint64_t const*>(from), __ATOMIC_SEQ_CST);
  return __atomic_load_n(static_cast<std::uint32_t const*>(from), __ATOMIC_SEQ_CST);
}

void write(void* to, std::size_t bytes, std::uint64_t value) {
  if (bytes == 8)
    __atomic_store_n(static_cast<std::uint64_t*>(to), value, __ATOMIC_SEQ_CST);
  else
    __atomic_store_n(static_cast<std::uint32_t*>(to), static_cast<std::uint32_t>(value), __ATOMIC_SEQ_CST);
}

void check_word(void const* address, std::size_t bytes, bool written, site at) {
  if (the_arena.offset_of(address) % bytes != 0 || !the_arena.contains(address))
    launch_now->raise(the_arena.contains(address) ? fault_kind::alignment : fault_kind::bounds,
                      "an atomic access to " + std::to_string(bytes) + " bytes at " + name_of_address(address) +
                          ", at " + text_of(at));
  check_access(address, bytes, {.write = written, .atomic = true}, {}, at);
}

/// The order that is left where the site is to be left out.
order order_at(order o, char const* what, site at) {
  if (o == order::relaxed) return o;
  return launch_now->leaves_out(acquires(o) ? "acquire" : "release", what, at) ? order::relaxed : o;
}

void acquire(void const* word) {
  auto& state = *launch_now;
  auto const found = state.released_words.find(the_arena.offset_of(word));
  if (found == state.released_words.end() || found->second.empty()) return;
  state.clocks.acquire(thread_now->clock, state.clocks.value(found->second));
}

/// A store begins a new sequence of releases, or, relaxed, ends the one before; additions go on with it.
void release(void const* word, order o, bool goes_on) {
  auto& state = *launch_now;
  auto const offset = the_arena.offset_of(word);
  if (!releases(o)) {
    if (!goes_on) state.released_words.erase(offset);
    return;
  }
  auto& sequence = state.released_words[offset];
  if (!goes_on) sequence.clear();
  state.clocks.release(thread_now->clock, sequence);
}

} // namespace

std::uint64_t load_word(void const* from, std::size_t bytes, order o, bool of_host, site at) {
  inside_emulator const inside;
  o = order_at(o, "load", at);
  check_word(from, bytes, false, at);
  auto value = read(from, bytes);
  thread_now->wait = {.kind = wait_kind::poll, .what = "load", .at = at, .object = from};
  if (launch_now->polled(from, value, of_host)) value = read(from, bytes);
  if (acquires(o)) acquire(from);
  return value;
}

void store_word(void* to, std::size_t bytes, std::uint64_t value, order o, bool, site at) {
  inside_emulator const inside;
  begin_step();
  o = order_at(o, "store", at);
  check_word(to, bytes, true, at);
  release(to, o, false);
  write(to, bytes, value);
  launch_now->changed(to);
}

std::uint64_t add_word(void* to, std::size_t bytes, std::uint64_t value, order o, site at) {
  inside_emulator const inside;
  begin_step();
  launch_now->used("arrive", "add", at);
  o = order_at(o, "add", at);
  check_word(to, bytes, true, at);
  auto const before = read(to, bytes);
  if (acquires(o)) acquire(to);
  release(to, o, true);
  write(to, bytes, before + value);
  launch_now->changed(to);
  return before;
}

bool exchange_word_if(void* at_address, std::size_t bytes, std::uint64_t expected, std::uint64_t value, site at) {
  inside_emulator const inside;
  auto const o = order_at(order::acquire_release, "exchange", at);
  check_word(at_address, bytes, true, at);
  auto const before = read(at_address, bytes);
  if (acquires(o)) acquire(at_address);
  if (before != expected) {
    thread_now->wait = {.kind = wait_kind::poll, .what = "exchange", .at = at, .object = at_address};
    (void)launch_now->polled(at_address, before, false);
    return false;
  }
  thread_now->polled_count = 0;
  release(at_address, o, true);
  write(at_address, bytes, value);
  launch_now->changed(at_address);
  return true;
}

} // namespace tylo::emulator
