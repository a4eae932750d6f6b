/// Asynchronous copies. Their accesses are checked where they are started, as those of an agent of its own: what nobody
/// has waited for meets nothing but faults, whenever the bytes move. Bytes are read and written when the copy is
/// carried out.

#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/internal/collective.hpp>
#include <megakernels/tylo/emulator/internal/copies.hpp>
#include <megakernels/tylo/emulator/internal/mbarrier.hpp>
#include <megakernels/tylo/emulator/lane.hpp>
#include <megakernels/tylo/emulator/tensor_map.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tylo::emulator {
namespace {

constexpr unsigned bulk_step = 16; ///< addresses and sizes of bulk copies

std::string place_of(char const* what, site at) { return std::string(what) + " at " + text_of(at) + ": "; }

void expect_multiple(void const* address, std::size_t of, char const* what, site at) {
  if (reinterpret_cast<std::uintptr_t>(address) % of != 0)
    launch_now->raise(fault_kind::alignment,
                      place_of(what, at) + name_of_address(address) + " is no multiple of " + std::to_string(of));
}

void expect_own_shared(void const* address, char const* what, site at) {
  if (!is_own_shared(address))
    launch_now->raise(fault_kind::bounds,
                      place_of(what, at) + name_of_address(address) + " is not in shared memory of the CTA");
}

void expect_global(void const* address, char const* what, site at) {
  if (the_arena.offset_of(address) >= global_bytes)
    launch_now->raise(fault_kind::bounds, place_of(what, at) + name_of_address(address) + " is not in global memory");
}

void expect_bulk(void const* shared, void const* global, unsigned bytes, char const* what, site at) {
  if (bytes == 0 || bytes % bulk_step != 0)
    launch_now->raise(fault_kind::alignment,
                      place_of(what, at) + std::to_string(bytes) + " bytes: a multiple of 16, not 0");
  expect_multiple(shared, bulk_step, what, at);
  expect_multiple(global, bulk_step, what, at);
  expect_own_shared(shared, what, at);
  expect_global(global, what, at);
}

/// The barrier, as one of CTA `home` that the copy engine knows of.
mbarrier_state& published_mbarrier(void const* word, cta const& home, char const* what, site at) {
  auto& state = *launch_now;
  auto& m = known_mbarrier(word, what, at);
  if (m.offset - shared_offset(home.slot) >= shared_pitch)
    state.raise(fault_kind::misuse, place_of(what, at) + "the mbarrier at " + name_of_address(word) +
                                        " is not in the CTA that the bytes go to");
  auto const place = place_of(what, at) + "the mbarrier at " + name_of_address(word) + " was initialised by " +
                     state.name_of_agent(m.made);
  if (m.published_at == 0) state.raise(fault_kind::proxy, place + ", which did no publish_barriers after it");
  if (state.check_races && !thread_now->clock.knows(m.made, m.published_at))
    state.raise(fault_kind::proxy,
                place + ", whose publish_barriers at " + text_of(m.published) + " nothing orders this copy after");
  return m;
}

std::uint64_t start(char const* what, site at, void* to, std::size_t bytes, std::function<void()> carry_out) {
  ++launch_now->counts.copies;
  return launch_now->start(what, at, the_arena.offset_of(to), bytes, std::move(carry_out));
}

/// Lets the calling thread know of operations that have been carried out.
class learning {
public:
  void of(agent_clock const& clock) { launch_now->clocks.add(all_, clock); }
  void end() {
    if (!all_.empty()) launch_now->clocks.acquire(thread_now->clock, launch_now->clocks.value(all_));
  }

private:
  gathering all_;
};

template <class Groups> std::size_t all_but(Groups const& groups, unsigned pending) {
  return groups.size() > pending ? groups.size() - pending : 0;
}

} // namespace

void bulk_load(void* to, void const* from, unsigned bytes, void* done, site at) {
  constexpr auto what = "bulk_load";
  inside_emulator const inside;
  begin_step();
  auto& home = *thread_now->home;
  expect_bulk(to, from, bytes, what, at);
  auto& barrier = published_mbarrier(done, home, what, at);
  auto const clock = launch_now->clock_of_operation(home, what, at);
  check_operation(from, bytes, false, clock, what, at);
  check_operation(to, bytes, true, clock, what, at);
  start(what, at, to, bytes, [=, &barrier, issuer = thread_now] {
    std::memcpy(to, from, bytes);
    complete_bytes(barrier, {what, at, bytes}, *issuer, clock);
  });
}

void bulk_load_multicast(void* to, void const* from, unsigned bytes, void* done, std::uint16_t ctas, site at) {
  constexpr auto what = "bulk_load_multicast";
  inside_emulator const inside;
  begin_step();
  auto& state = *launch_now;
  auto& home = *thread_now->home;
  auto const size = state.shape.cluster;
  if (ctas == 0 || ctas >> size != 0)
    state.raise(fault_kind::misuse, place_of(what, at) + "CTAs with the bits " + std::to_string(ctas) +
                                        " of a cluster of " + std::to_string(size));
  expect_bulk(to, from, bytes, what, at);
  expect_own_shared(done, what, at);
  struct target {
    void* to;
    mbarrier_state* barrier;
  };
  std::vector<target> targets;
  for (unsigned i = 0; i < size; ++i) {
    if ((ctas >> i & 1) == 0) continue;
    auto& of = state.ctas[home.rank / size * size + i];
    auto* const word = of.shared + (static_cast<std::byte const*>(done) - home.shared);
    targets.push_back(
        {of.shared + (static_cast<std::byte*>(to) - home.shared), &published_mbarrier(word, of, what, at)});
  }
  auto const clock = state.clock_of_operation(home, what, at);
  check_operation(from, bytes, false, clock, what, at);
  for (auto const& t : targets) check_operation(t.to, bytes, true, clock, what, at);
  for (auto const& t : targets)
    start(what, at, t.to, bytes, [=, issuer = thread_now] {
      std::memcpy(t.to, from, bytes);
      complete_bytes(*t.barrier, {what, at, bytes}, *issuer, clock);
    });
}

void bulk_store(void* to, void const* from, unsigned bytes, site at) {
  constexpr auto what = "bulk_store";
  inside_emulator const inside;
  begin_step();
  auto& self = *thread_now;
  expect_bulk(from, to, bytes, what, at);
  auto const reader = launch_now->clock_of_operation(*self.home, what, at);
  auto const writer = launch_now->clock_of_operation(*self.home, what, at);
  check_operation(from, bytes, false, reader, what, at);
  check_operation(to, bytes, true, writer, what, at);
  auto const number = start(what, at, to, bytes, [=] { std::memcpy(to, from, bytes); });
  self.bulk_open.push_back({number, reader, writer, to, bytes, at});
}

void commit_bulk_stores(site at) {
  inside_emulator const inside;
  if (launch_now->leaves_out("commit", "commit_bulk_stores", at)) return;
  begin_step();
  thread_now->bulk_groups.push_back(std::exchange(thread_now->bulk_open, {}));
}

void await_bulk_stores(unsigned pending, bool is_written, site at) {
  inside_emulator const inside;
  if (launch_now->leaves_out("wait", is_written ? "await_bulk_stores" : "await_bulk_stores_read", at)) return;
  begin_step();
  auto& groups = thread_now->bulk_groups;
  auto const count = all_but(groups, pending);
  learning learned;
  for (std::size_t i = 0; i < count; ++i)
    for (auto& c : groups[i]) {
      launch_now->finish(c.number);
      c.is_read = true;
      learned.of(c.reader);
      if (is_written) learned.of(c.writer);
    }
  learned.end();
  if (is_written) groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(count));
}

namespace {

/// All threads of the CTA have ended, or do so now. Copies that are still under way are not among these.
void check_copies_at_end(cta const& c) {
  auto const raise = [&](char const* what, site at, std::string const& way) {
    launch_now->raise(fault_kind::exit, "CTA " + std::to_string(c.rank) + " ends and nobody has waited for " + what +
                                            " from " + text_of(at) + way +
                                            ": shared memory that it writes may be gone");
  };
  for (auto const& m : c.mbarriers)
    if (m.last_copy.bytes > 0 && m.last_copy_phase >= m.most_seen)
      raise(m.last_copy.what, m.last_copy.at,
            ", which completes in phase " + std::to_string(m.last_copy_phase) + " of the mbarrier at " +
                name_of_address(the_arena.memory + m.offset));
  for (auto const& t : c.threads) {
    for (auto const& g : t->cp_groups)
      if (!g.empty()) raise("copy_async", g.front().at, " by " + name_of_thread(*t));
    if (!t->cp_open.empty()) raise("copy_async", t->cp_open.front().at, " by " + name_of_thread(*t));
  }
}

} // namespace

void check_stores_at_end(thread const& t) {
  auto const check = [](started_copy const& c) {
    if (!c.is_read)
      launch_now->raise(fault_kind::exit, "a thread ends before it has waited for its bulk_store from " +
                                              text_of(c.at) + " to " + name_of_address(c.to) +
                                              ": shared memory that it reads may be gone");
  };
  for (auto const& g : t.bulk_groups) std::for_each(g.begin(), g.end(), check);
  std::for_each(t.bulk_open.begin(), t.bulk_open.end(), check);
  if (t.home->live == 1) check_copies_at_end(*t.home);
}

void copy_async(void* to, void const* from, unsigned bytes, unsigned from_bytes, site at) {
  constexpr auto what = "copy_async";
  inside_emulator const inside;
  begin_step();
  auto& self = *thread_now;
  if ((bytes != 4 && bytes != 8 && bytes != 16) || from_bytes > bytes)
    launch_now->raise(fault_kind::misuse, place_of(what, at) + std::to_string(from_bytes) + " of " +
                                              std::to_string(bytes) + " bytes: of 4, 8 or 16, at most as many");
  expect_multiple(to, bytes, what, at);
  expect_multiple(from, bytes, what, at);
  expect_own_shared(to, what, at);
  auto const clock = launch_now->clock_of_operation(*self.home, what, at);
  if (from_bytes > 0) {
    expect_global(from, what, at);
    check_operation(from, from_bytes, false, clock, what, at, proxy::generic);
  }
  check_operation(to, bytes, true, clock, what, at, proxy::generic);
  auto const number = start(what, at, to, bytes, [=] {
    std::memcpy(to, from, from_bytes);
    std::memset(static_cast<std::byte*>(to) + from_bytes, 0, bytes - from_bytes);
  });
  self.cp_open.push_back({number, clock, clock, to, bytes, at});
}

void commit_copies(site at) {
  inside_emulator const inside;
  if (launch_now->leaves_out("commit", "commit_copies", at)) return;
  begin_step();
  thread_now->cp_groups.push_back(std::exchange(thread_now->cp_open, {}));
}

void await_copies(unsigned pending, site at) {
  inside_emulator const inside;
  auto const position = position_of(__builtin_return_address(0));
  if (launch_now->leaves_out("wait", "await_copies", at)) return;
  begin_step();
  auto& groups = thread_now->cp_groups;
  auto const end = groups.begin() + static_cast<std::ptrdiff_t>(all_but(groups, pending));
  learning learned;
  for (auto g = groups.begin(); g != end; ++g)
    for (auto const& c : *g) {
      launch_now->finish(c.number);
      learned.of(c.writer);
    }
  learned.end();
  // From now on these are writes of the thread, which its later fences and barriers tell others of.
  for (auto g = groups.begin(); g != end; ++g)
    for (auto const& c : *g) check_access(c.to, c.bytes, {.write = true}, position, at);
  groups.erase(groups.begin(), end);
}

// --- tensor maps

namespace {

/// The map, as the copy engine sees it.
tensor_map_parameters known_map(void const* address, char const* what, site at) {
  auto& state = *launch_now;
  auto const offset = the_arena.offset_of(address);
  expect_multiple(address, 64, what, at);
  expect_global(address, what, at);
  check_access(address, sizeof(tensor_map), {}, {}, at);
  tensor_map map;
  std::memcpy(&map, address, sizeof map);
  if ((the_arena.states[offset] & constant) == 0) {
    auto const& maps = thread_now->maps;
    auto const found = std::find_if(maps.begin(), maps.end(), [&](auto const& m) { return m.map == address; });
    if (found == maps.end() || std::memcmp(found->words.data(), &map, sizeof map) != 0)
      state.raise(fault_kind::proxy,
                  place_of(what, at) + "the tensor map at " + name_of_address(address) +
                      (found == maps.end() ? " may have been written while the kernel runs" : " was written again") +
                      ", and this thread did no acquire_tensor_map since");
  }
  auto const decoded = decode_tensor_map(map);
  if (!decoded)
    state.raise(fault_kind::descriptor, place_of(what, at) + name_of_address(address) + " is no tensor map");
  return *decoded;
}

struct box_copy {
  tensor_map_parameters map;
  std::array<std::int32_t, max_tensor_map_rank> first; ///< element of the tensor

  [[nodiscard]] std::uint32_t row_bytes() const { return map.box[0] * map.element_bytes; }
  [[nodiscard]] std::uint32_t bytes() const {
    auto all = row_bytes();
    for (unsigned i = 1; i < map.rank; ++i) all *= map.box[i];
    return all;
  }

  /// Calls `each(to, from, bytes)` for the part of each row that lies in the tensor: from which byte of the box, from
  /// where, how many.
  template <class F> void for_rows(F each) const {
    auto const begin = std::max<std::int64_t>(0, -std::int64_t(first[0]));
    auto const end =
        std::min<std::int64_t>(map.box[0], static_cast<std::int64_t>(map.extents[0]) - std::int64_t(first[0]));
    if (begin >= end) return;
    auto const row = row_bytes();
    for (std::uint32_t r = 0; r < bytes() / row; ++r) {
      auto const* from = static_cast<std::byte const*>(map.address) + (first[0] + begin) * map.element_bytes;
      bool inside = true;
      auto rest = r;
      for (unsigned axis = 1; axis < map.rank; rest /= map.box[axis], ++axis) {
        auto const i = std::int64_t(first[axis]) + rest % map.box[axis];
        inside = inside && i >= 0 && i < static_cast<std::int64_t>(map.extents[axis]);
        if (inside) from += static_cast<std::uint64_t>(i) * map.strides[axis - 1];
      }
      if (inside)
        each(std::size_t(r) * row + static_cast<std::size_t>(begin) * map.element_bytes, from,
             static_cast<std::size_t>(end - begin) * map.element_bytes);
    }
  }

  void carry_out(std::byte* to) const {
    std::vector<std::byte> dense(bytes());
    for_rows(
        [&](std::size_t at, std::byte const* from, std::size_t count) { std::memcpy(dense.data() + at, from, count); });
    auto const start = the_arena.offset_of(to);
    for (std::size_t i = 0; i < dense.size(); i += 16)
      std::memcpy(the_arena.memory + swizzled(start + i, map.swizzle), dense.data() + i, 16);
  }
};

} // namespace

void acquire_tensor_map(void const* map, site at) {
  constexpr auto what = "acquire_tensor_map";
  inside_emulator const inside;
  if (launch_now->leaves_out("fence", what, at)) return;
  begin_step();
  expect_multiple(map, 64, what, at);
  check_access(map, sizeof(tensor_map), {}, {}, at);
  auto& maps = thread_now->maps;
  auto found = std::find_if(maps.begin(), maps.end(), [&](auto const& m) { return m.map == map; });
  if (found == maps.end()) found = maps.insert(found, {.map = map});
  std::memcpy(found->words.data(), map, sizeof found->words);
}

void tensor_load(void* to, void const* map, std::int32_t const* first, unsigned rank, void* done, site at) {
  constexpr auto what = "tensor_load";
  inside_emulator const inside;
  begin_step();
  auto& state = *launch_now;
  auto& home = *thread_now->home;
  box_copy copy{.map = known_map(map, what, at), .first = {}};
  if (rank != copy.map.rank)
    state.raise(fault_kind::descriptor, place_of(what, at) + std::to_string(rank) + " coordinates, and the map at " +
                                            name_of_address(map) + " has " + std::to_string(copy.map.rank) + " axes");
  std::copy_n(first, rank, copy.first.begin());
  if (std::int64_t(first[0]) * copy.map.element_bytes % 16 != 0)
    state.raise(fault_kind::alignment, place_of(what, at) + "the box begins at element " + std::to_string(first[0]) +
                                           " of " + std::to_string(copy.map.element_bytes) +
                                           " bytes on the innermost axis: a multiple of 16 bytes");
  auto const span = span_of(copy.map.swizzle);
  expect_multiple(to, copy.map.swizzle == tensor_swizzle::none ? 128 : 8 * span, what, at);
  expect_own_shared(to, what, at);
  auto& barrier = published_mbarrier(done, home, what, at);
  auto const clock = state.clock_of_operation(home, what, at);
  copy.for_rows([&](std::size_t, std::byte const* from, std::size_t count) {
    expect_global(from, what, at);
    check_operation(from, count, false, clock, what, at);
  });
  auto const bytes = copy.bytes();
  auto const touched = (bytes + span - 1) / span * span;
  check_operation(to, touched, true, clock, what, at);
  start(what, at, to, touched, [=, &barrier, issuer = thread_now] {
    copy.carry_out(static_cast<std::byte*>(to));
    complete_bytes(barrier, {what, at, bytes}, *issuer, clock);
  });
}

} // namespace tylo::emulator
