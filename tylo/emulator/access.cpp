#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/internal/grid.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace tylo::emulator {
namespace {

std::string words_of(std::size_t bytes, bool write, bool atomic) {
  return std::string(atomic ? "an atomic " : "a ") + (write ? "write" : "read") + " of " + std::to_string(bytes) +
         " bytes";
}

std::string position_text(code_position position, site at) {
  return position != code_position{} ? describe(position) : text_of(at);
}

/// What accesses, and where it was called: an asynchronous operation or a lane function. Line 0: code of the kernel.
struct accessor {
  char const* what = nullptr;
  site at{"", 0};
};

std::string words_of(accessor const& by) {
  return (by.what != nullptr ? " by " + std::string(by.what) : "") + (by.at.line != 0 ? " from " + text_of(by.at) : "");
}

/// Whether one of the 8 bytes around a byte was written: what lies between the members of an object never is.
bool may_be_padding(std::size_t offset) {
  auto const* const around = the_arena.states + offset / 8 * 8;
  return std::any_of(around, around + 8, [](std::uint8_t s) { return (s & written) != 0; });
}

/// Says what is wrong with the states of the bytes. Returns where an object is read and only padding was not written.
void report_states(std::byte const* address, std::size_t bytes, bool write, bool object, accessor const& by) {
  auto& state = *launch_now;
  auto const offset = the_arena.offset_of(address);
  auto const access = words_of(bytes, write, false) + words_of(by) + " at ";
  for (std::size_t i = 0; i < bytes; ++i) {
    auto const s = offset + i < arena_bytes ? the_arena.states[offset + i] : std::uint8_t{0};
    auto const where = access + name_of_address(address + i);
    if ((s & allocated) == 0) state.raise(fault_kind::bounds, where);
    if ((s & barrier_word) != 0)
      state.raise(fault_kind::misuse, where + ", which is an mbarrier: only its own instructions may touch it");
    if ((s & arriving) != 0) {
      auto const* const o = state.writer_of(offset + i);
      state.raise(fault_kind::in_flight, where + ": " + (o != nullptr ? o->what : "an operation") + " from " +
                                             (o != nullptr ? text_of(o->at) : "elsewhere") + " is going to write it");
    }
    if (write && (s & constant) != 0) state.raise(fault_kind::constant, where);
    if (!write && (s & written) == 0 && !(object && may_be_padding(offset + i)))
      state.raise(fault_kind::unwritten, where + ", which nothing has written");
  }
  if (!object) state.raise(fault_kind::bounds, access + name_of_address(address));
}

/// Whether nothing may write any of the bytes.
bool are_constant(std::uint8_t const* states, std::size_t bytes) {
  return std::all_of(states, states + bytes, [](std::uint8_t s) { return (s & constant) != 0; });
}

constexpr std::uint64_t in_every_byte(unsigned bits) { return bits * 0x0101010101010101u; }

/// Whether all bytes have the state that the access needs.
bool states_allow(std::uint8_t const* states, std::size_t bytes, bool write) {
  auto const looked = in_every_byte(write ? allocated | constant | barrier_word | arriving
                                          : allocated | written | barrier_word | arriving);
  auto const needed = in_every_byte(write ? allocated : allocated | written);
  std::uint64_t wrong = 0;
  for (; bytes >= 8; bytes -= 8, states += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, states, 8);
    wrong |= (eight & looked) ^ needed;
  }
  for (; bytes > 0; --bytes, ++states) wrong |= (*states & looked & 0xFF) ^ (needed & 0xFF);
  return wrong == 0;
}

/// Shared memory of another CTA can be reached within a cluster only.
bool is_foreign(std::size_t offset, cta const& home) {
  if (offset < global_bytes) return false;
  auto const slot = (offset - global_bytes) / shared_pitch;
  auto const first = home.slot - home.rank;
  auto const cluster = launch_now->shape.cluster;
  return slot < first || (slot - first) / cluster != home.rank / cluster;
}

[[noreturn]] void report(conflict const& c, std::byte const* address, std::size_t bytes, access const& a,
                         accessor const& by) {
  auto& state = *launch_now;
  auto const place = name_of_address(address + c.byte);
  auto const other =
      state.name_of_agent(c.other) + (c.other_position != code_position{} ? " at " + describe(c.other_position) : "");
  auto const here = words_of(bytes, a.write, a.atomic) + words_of(by) + " at " + place;
  if (c.fence_missing)
    state.raise(fault_kind::proxy, here + " goes through the async proxy; it was written by " + other +
                                       ", which did no " +
                                       (a.global ? "fence_async_proxy_everywhere" : "fence_async_proxy") +
                                       " between that and the barrier or arrival by which it told of it");
  bool const copies = index_of(c.other) >= state.shape.threads;
  state.raise(copies ? fault_kind::in_flight : fault_kind::race,
              here + ": nothing orders it after the " + (c.other_atomic ? "atomic " : "") +
                  (c.other_wrote ? "write" : "read") + " by " + other);
}

void check_work(std::byte const* address, std::size_t bytes, bool write, accessor const& by) {
  auto const* const work = thread_now->work.get();
  if (work == nullptr || the_arena.offset_of(address) >= global_bytes || work->include(address, bytes, write)) return;
  launch_now->raise(fault_kind::unannounced, words_of(bytes, write, false) + words_of(by) + " at " +
                                                 name_of_address(address) + ": " +
                                                 work->why_not(address, bytes, write));
}

void check_races(std::byte const* address, std::size_t bytes, access const& a, accessor const& by) {
  auto const offset = the_arena.offset_of(address);
  if (auto const c = launch_now->races.check(the_arena.cells + offset / 4, offset % 4, bytes, a))
    report(*c, address, bytes, a, by);
}

} // namespace

void check_access(void const* start, std::size_t bytes, access_kind kind, code_position position, site at) {
  auto const* const address = static_cast<std::byte const*>(start);
  auto const offset = the_arena.offset_of(address);
  auto* const states = the_arena.states + offset;
  auto& self = *thread_now;
  if (offset + bytes > arena_bytes || !states_allow(states, bytes, kind.write)) [[unlikely]]
    report_states(address, bytes, kind.write, kind.object, {nullptr, at});
  if (is_foreign(offset, *self.home)) [[unlikely]]
    launch_now->raise(fault_kind::bounds, words_of(bytes, kind.write, kind.atomic) + " at " + name_of_address(address) +
                                              ", which is not of the cluster, at " + position_text(position, at));
  check_work(address, bytes, kind.write, {nullptr, at});
  bool const is_constant = are_constant(states, bytes);
  if (kind.write) {
    for (std::size_t i = 0; i < bytes; ++i) states[i] |= written;
    if (!kind.atomic) launch_now->wrote();
  }
  if (launch_now->check_races && !is_constant)
    check_races(address, bytes,
                {.who = self.clock,
                 .position = position,
                 .write = kind.write,
                 .atomic = kind.atomic,
                 .through = proxy::generic,
                 .global = offset < global_bytes},
                {nullptr, at});
}

void check_operation(void const* start, std::size_t bytes, bool write, agent_clock const& clock, char const* what,
                     site at, proxy through) {
  auto const* const address = static_cast<std::byte const*>(start);
  auto const offset = the_arena.offset_of(address);
  accessor const by{what, at};
  if (offset + bytes > arena_bytes || !states_allow(the_arena.states + offset, bytes, write))
    report_states(address, bytes, write, false, by);
  if (is_foreign(offset, *thread_now->home))
    launch_now->raise(fault_kind::bounds, words_of(bytes, write, false) + words_of(by) + " at " +
                                              name_of_address(address) + ", which is not of the cluster");
  check_work(address, bytes, write, by);
  bool const is_constant = are_constant(the_arena.states + offset, bytes);
  if (write) std::memset(the_arena.states + offset, the_arena.states[offset] | written, bytes);
  if (launch_now->check_races && !is_constant)
    check_races(address, bytes,
                {.who = clock,
                 .position = {},
                 .write = write,
                 .atomic = false,
                 .through = through,
                 .global = offset < global_bytes},
                by);
}

} // namespace tylo::emulator
