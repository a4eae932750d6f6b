/// Words in global memory by which CTAs, and the host, tell each other of things. An acquire that sees what a release
/// wrote is ordered after all that came before it; relaxed accesses order nothing. A load finds the last write, or, as
/// long as nothing orders it after that, at times what was there before.

#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/internal/collective.hpp>
#include <megakernels/tylo/emulator/lane.hpp>

#include <algorithm>

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

/// A store begins a new sequence of releases, or, relaxed, none; additions go on with the one before.
void write_shared(void* to, std::size_t bytes, std::uint64_t value, order o, bool goes_on) {
  auto& clocks = launch_now->clocks;
  auto& self = thread_now->clock;
  auto& word = launch_now->shared_words[the_arena.offset_of(to)];
  word.value_before = read(to, bytes);
  if (word.value_before != value) launch_now->wrote();
  word.released_before = clocks.value(word.released);
  word.writer = self.id;
  word.written_at = self.now;
  word.seen_by.clear();
  if (!goes_on) word.released.clear();
  if (releases(o)) clocks.release(self, word.released);
  write(to, bytes, value);
  launch_now->changed(to);
}

bool knows_of_last_write(shared_word const& word) {
  auto const& self = thread_now->clock;
  return self.knows(word.writer, word.written_at) ||
         std::any_of(word.seen_by.begin(), word.seen_by.end(),
                     [&](auto const& seen) { return self.knows(seen.first, seen.second); });
}

void see_last_write(shared_word& word) {
  if (!knows_of_last_write(word)) word.seen_by.emplace_back(thread_now->clock.id, thread_now->clock.now);
}

/// What a load finds, and what was released to it.
struct found_word {
  std::uint64_t value = 0;
  clock_ref released;
};

found_word look_at(void const* from, std::size_t bytes) {
  auto& state = *launch_now;
  auto const shared = state.shared_words.find(the_arena.offset_of(from));
  if (shared == state.shared_words.end()) return {read(from, bytes), {}};
  auto& word = shared->second;
  bool const late = state.how.seed != 0 && !knows_of_last_write(word) && state.random(4) == 0;
  if (late) return {word.value_before, word.released_before};
  see_last_write(word);
  return {read(from, bytes), state.clocks.value(word.released)};
}

/// The calling thread reads and writes at once: it always finds the last write.
void look_at_last(void const* from, order o) {
  auto& state = *launch_now;
  auto const shared = state.shared_words.find(the_arena.offset_of(from));
  if (shared == state.shared_words.end()) return;
  see_last_write(shared->second);
  if (acquires(o)) state.clocks.acquire(thread_now->clock, state.clocks.value(shared->second.released));
}

} // namespace

std::uint64_t load_word(void const* from, std::size_t bytes, order o, bool of_host, site at) {
  inside_emulator const inside;
  o = order_at(o, "load", at);
  check_word(from, bytes, false, at);
  auto found = look_at(from, bytes);
  thread_now->wait = {.kind = wait_kind::poll, .what = "load", .at = at, .object = from};
  if (launch_now->polled(from, found.value, of_host)) found = look_at(from, bytes);
  if (acquires(o)) launch_now->clocks.acquire(thread_now->clock, found.released);
  return found.value;
}

void store_word(void* to, std::size_t bytes, std::uint64_t value, order o, bool, site at) {
  inside_emulator const inside;
  begin_step();
  o = order_at(o, "store", at);
  check_word(to, bytes, true, at);
  write_shared(to, bytes, value, o, false);
}

std::uint64_t add_word(void* to, std::size_t bytes, std::uint64_t value, order o, site at) {
  inside_emulator const inside;
  begin_step();
  launch_now->used("arrive", "add", at);
  o = order_at(o, "add", at);
  check_word(to, bytes, true, at);
  auto const before = read(to, bytes);
  look_at_last(to, o);
  write_shared(to, bytes, before + value, o, true);
  return before;
}

bool exchange_word_if(void* at_address, std::size_t bytes, std::uint64_t expected, std::uint64_t value, site at) {
  inside_emulator const inside;
  yield_at_times(); // it may be polled
  auto const o = order_at(order::acquire_release, "exchange", at);
  check_word(at_address, bytes, true, at);
  auto const before = read(at_address, bytes);
  look_at_last(at_address, o);
  if (before != expected) {
    thread_now->wait = {.kind = wait_kind::poll, .what = "exchange", .at = at, .object = at_address};
    (void)launch_now->polled(at_address, before, false);
    return false;
  }
  thread_now->polled.clear();
  write_shared(at_address, bytes, value, o, true);
  return true;
}

} // namespace tylo::emulator
