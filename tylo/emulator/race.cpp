#include <megakernels/tylo/emulator/internal/race.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace tylo::emulator {
namespace {

/// Beside the agent of a write, and below the agents of other accesses.
constexpr std::uint32_t is_async_write = 1u << 31;
constexpr std::uint32_t is_async = 1;
constexpr unsigned kind_shift = 1, agents_shift = 3;

/// What an access does, which is what it races with.
enum kind : std::uint32_t { plain_write, plain_read, atomic_read, atomic_write };

constexpr kind kind_of(access const& a) {
  if (a.atomic) return a.write ? atomic_write : atomic_read;
  return a.write ? plain_write : plain_read;
}

/// Kinds that are not `plain_write`, a bit each, that race with this one where nothing orders them.
constexpr std::array<std::uint32_t, 4> racing = {1u << plain_read | 1u << atomic_read | 1u << atomic_write,
                                                 1u << atomic_write, 0, 1u << plain_read};

constexpr kind kind_in(std::uint32_t packed) { return static_cast<kind>(packed >> kind_shift & 3); }
constexpr agent_id first_agent_in(std::uint32_t packed) {
  return static_cast<agent_id>((packed >> agents_shift) * agents_at_once);
}
constexpr agent_id agent_in(past_accesses const& p, unsigned lane) {
  return static_cast<agent_id>(static_cast<std::uint32_t>(first_agent_in(p.kind)) + lane);
}

/// Whether all of the clocks have come so far.
bool have_all_reached(std::uint32_t const* clocks, std::uint32_t least) {
  std::uint32_t is_less = 0;
  for (unsigned i = 0; i < agents_at_once; i += 4)
    is_less |= static_cast<std::uint32_t>(clocks[i] < least) | static_cast<std::uint32_t>(clocks[i + 1] < least) |
               static_cast<std::uint32_t>(clocks[i + 2] < least) | static_cast<std::uint32_t>(clocks[i + 3] < least);
  return is_less == 0;
}

/// In `race_cell::more`.
constexpr std::uint32_t is_split = 1u << 31;

constexpr std::size_t smallest_table = 4, largest_table_kept = 32;

/// Of a table of some power of two, at least 2.
std::size_t place_in(std::size_t table, std::uint32_t packed) {
  return packed * 0x9E3779B9u >> (32 - std::countr_zero(table));
}

} // namespace

/// An access on its way through its cells.
struct race_detector::visit {
  explicit visit(access const& a)
      : what(a), does(kind_of(a)), agent(static_cast<std::uint32_t>(a.who.id)), now(a.who.now),
        written_by(agent | (a.through == proxy::async ? is_async_write : 0)),
        packed(agent / agents_at_once << agents_shift | does << kind_shift |
               (a.through == proxy::async ? is_async : 0)),
        lane(1u << agent % agents_at_once), racing_kinds(racing[does]),
        looked_at(racing_kinds | (a.through == proxy::async ? 1u << atomic_write : 0)) {}

  [[nodiscard]] past_accesses made() const { return {now, packed, what.position, lane}; }
  /// Whether the agent has done the same, or has written, since it last told others of anything. Nothing that has come
  /// between can race with this access and not with that one.
  [[nodiscard]] bool is_repeated(race_cell const& cell) const {
    auto const& others = cell.others;
    return (cell.write.clock == now && cell.write.agent == written_by) ||
           (others.clock == now && others.kind == packed && (others.lanes & lane) != 0);
  }

  access const& what;
  kind does;
  std::uint32_t agent;
  std::uint32_t now;
  std::uint32_t written_by, packed, lane; ///< the access as `past_write` and `past_accesses` keep it
  std::uint32_t racing_kinds, looked_at;  ///< the latter may also lack a fence
  /// What the last words had, which was found in order.
  past_write write_before{};
  past_accesses others_before{};
  conflict found;
};

bool race_detector::lacks_fence(agent_id writer, std::uint32_t clock, visit const& v) const {
  auto const& of_cta = fences_[cta_of(writer)];
  if (of_cta.empty()) return true;
  auto const& fences = of_cta[index_of(writer)];
  auto const& clocks = v.what.global ? fences.global : fences.all;
  auto const fence = std::lower_bound(clocks.begin(), clocks.end(), clock);
  if (fence == clocks.end()) return true;
  return *fence > v.what.who.known[writer] && !(static_cast<std::uint32_t>(writer) == v.agent);
}

bool race_detector::meets(past_write const& before, visit& v) const {
  if (before.clock < domain_.base()) return false;
  if (before.clock == v.write_before.clock && before.agent == v.write_before.agent) return false;
  auto const agent = static_cast<agent_id>(before.agent & ~is_async_write);
  bool const ordered = v.what.who.knows(agent, before.clock);
  bool const mixed = v.what.through == proxy::async && (before.agent & is_async_write) == 0;
  if (ordered && !(mixed && lacks_fence(agent, before.clock, v))) {
    v.write_before = before;
    return false;
  }
  v.found = {.other = agent,
             .other_wrote = true,
             .other_atomic = false,
             .other_position = before.position,
             .byte = 0,
             .fence_missing = ordered};
  return true;
}

bool race_detector::meets(past_accesses const& before, visit& v) const {
  auto const kind = kind_in(before.kind);
  if ((v.looked_at >> kind & 1) == 0) return false;
  auto const& last = v.others_before;
  if (before.clock == last.clock && before.kind == last.kind && (before.lanes & ~last.lanes) == 0) return false;
  bool const races = (v.racing_kinds >> kind & 1) != 0;
  bool const mixed = v.what.through == proxy::async && kind == atomic_write && (before.kind & is_async) == 0;
  auto const first = first_agent_in(before.kind);
  auto const* const known = v.what.who.known.of_cta(cta_of(first)) + index_of(first);
  bool const all_known = !mixed && std::popcount(before.lanes) > 4 && have_all_reached(known, before.clock);
  for (auto lanes = all_known ? 0 : before.lanes; lanes != 0; lanes &= lanes - 1) {
    auto const lane = static_cast<unsigned>(std::countr_zero(lanes));
    auto const agent = agent_in(before, lane);
    bool const ordered = before.clock <= known[lane] || v.what.who.knows(agent, before.clock);
    if (ordered ? !(mixed && lacks_fence(agent, before.clock, v)) : !races) continue;
    v.found = {.other = agent,
               .other_wrote = kind == atomic_write,
               .other_atomic = kind != plain_read,
               .other_position = before.position,
               .byte = 0,
               .fence_missing = ordered};
    return true;
  }
  v.others_before = before;
  return false;
}

bool race_detector::meets(access_set const& set, visit& v) const {
  return (set.kinds & v.looked_at) != 0 &&
         std::any_of(set.slots.begin(), set.slots.end(), [&](past_accesses const& p) { return meets(p, v); });
}

inline bool race_detector::check_cell(race_cell& cell, visit& v) {
  if (v.is_repeated(cell)) return true;
  if (meets(cell.write, v)) return false;
  if (is_of_this_launch(cell) && (cell.more == 0 ? meets(cell.others, v) : meets(sets_[cell.more], v))) return false;
  keep(cell, v);
  return true;
}

void race_detector::keep(race_cell& cell, visit const& v) {
  auto& others = cell.others;
  bool const current = is_of_this_launch(cell);
  if (v.does == plain_write) { // all before comes before it
    if (current && cell.more != 0) drop_set(cell.more);
    cell = {{v.now, v.written_by, v.what.position}, 0, {}};
    return;
  }
  if (current && cell.more != 0) return insert(sets_[cell.more], v);
  auto const is_covered = [&] { // whatever races with those races with this one
    auto const before = kind_in(others.kind);
    if (before == atomic_write ? others.kind != v.packed || others.lanes != v.lane
                               : before == plain_read && v.does != plain_read)
      return false;
    for (auto lanes = others.lanes; lanes != 0; lanes &= lanes - 1)
      if (!v.what.who.knows(agent_in(others, static_cast<unsigned>(std::countr_zero(lanes))), others.clock))
        return false;
    return true;
  };
  if (current && others.clock == v.now && others.kind == v.packed && others.position == v.what.position) {
    others.lanes |= v.lane;
  } else if (!current || is_covered()) {
    others = v.made();
    cell.more = 0;
  } else {
    cell.more = new_set();
    insert(sets_[cell.more], others);
    insert(sets_[cell.more], v);
    others = {domain_.base(), 0, {}, 0};
  }
}

/// In place of what the agent did before.
void race_detector::insert(access_set& set, visit const& v) {
  past_accesses* place = nullptr;
  auto const last = set.slots.size() - 1;
  for (auto i = place_in(set.slots.size(), v.packed); set.slots[i].kind != 0; i = (i + 1) & last) {
    auto& p = set.slots[i];
    if (p.kind != v.packed) continue;
    if ((p.lanes & v.lane) != 0) {
      if (p.clock == v.now) return;
      if (v.what.who.knows(v.what.who.id, p.clock)) p.lanes &= ~v.lane;
    }
    if (p.lanes == 0 ? place == nullptr : p.clock == v.now && p.position == v.what.position) place = &p;
  }
  if (place == nullptr)
    insert(set, v.made());
  else if (place->lanes == 0)
    *place = v.made();
  else
    place->lanes |= v.lane;
}

void race_detector::insert(access_set& set, past_accesses const& p) {
  if (4 * (set.used + 1) > 3 * set.slots.size()) {
    auto const before = std::exchange(set.slots, {});
    auto const live = std::count_if(before.begin(), before.end(), [](auto const& b) { return b.lanes != 0; });
    set.slots.resize(std::bit_ceil(std::max(smallest_table, 2 * static_cast<std::size_t>(live + 1))));
    set.used = 0;
    for (auto const& b : before)
      if (b.lanes != 0) insert(set, b);
  }
  auto i = place_in(set.slots.size(), p.kind);
  while (set.slots[i].kind != 0) i = (i + 1) & (set.slots.size() - 1);
  set.slots[i] = p;
  set.kinds |= 1u << kind_in(p.kind);
  ++set.used;
}

std::uint32_t race_detector::new_set() {
  if (sets_.empty()) sets_.emplace_back(); // number 0 is none
  if (unused_sets_.empty()) {
    sets_.emplace_back().slots.resize(smallest_table);
    return static_cast<std::uint32_t>(sets_.size() - 1);
  }
  auto const number = unused_sets_.back();
  unused_sets_.pop_back();
  return number;
}

void race_detector::drop_set(std::uint32_t number) {
  auto& set = sets_[number];
  if (set.slots.size() > largest_table_kept)
    set.slots = std::vector<past_accesses>(smallest_table);
  else
    std::fill(set.slots.begin(), set.slots.end(), past_accesses{});
  set.used = 0;
  set.kinds = 0;
  unused_sets_.push_back(number);
}

/// The cells of a word's bytes, each with the word's history if it has none of its own yet.
race_detector::split_cell& race_detector::split(race_cell& cell) {
  bool const current = is_of_this_launch(cell);
  if (current && (cell.more & is_split) != 0) return splits_[cell.more & ~is_split];
  if (unused_splits_.empty()) {
    unused_splits_.push_back(static_cast<std::uint32_t>(splits_.size()));
    splits_.emplace_back();
  }
  auto const number = unused_splits_.back();
  unused_splits_.pop_back();
  auto& bytes = splits_[number];
  if (!current) {
    cell.more = 0;
    cell.others = {};
  }
  bytes.fill(cell);
  if (cell.more != 0)
    for (std::size_t i = 1; i < bytes.size(); ++i) {
      bytes[i].more = new_set();
      sets_[bytes[i].more] = sets_[cell.more];
    }
  cell = {{}, is_split | number, {domain_.base(), 0, {}, 0}};
  return bytes;
}

/// A part of a word, or one that has been accessed in parts.
bool race_detector::check_bytes(race_cell& cell, std::size_t first, std::size_t count, visit& v, std::size_t& wrong) {
  if (v.is_repeated(cell)) return true;
  auto& bytes = split(cell);
  for (std::size_t i = 0; i < count; ++i)
    if (!check_cell(bytes[first + i], v)) {
      wrong = i;
      return false;
    }
  if (v.does == plain_write && count == bytes.size()) { // the word is one again
    unused_splits_.push_back(cell.more & ~is_split);
    cell = bytes[0];
  }
  return true;
}

std::optional<conflict> race_detector::check(race_cell* cells, std::size_t first, std::size_t bytes, access const& a) {
  visit v(a);
  for (std::size_t done = 0; done < bytes; ++cells) {
    auto const count = std::min(4 - first, bytes - done);
    std::size_t wrong = 0;
    if (!(count == 4 && (cells->more & is_split) == 0 ? check_cell(*cells, v)
                                                      : check_bytes(*cells, first, count, v, wrong))) {
      v.found.byte = done + wrong;
      return v.found;
    }
    done += count;
    first = 0;
  }
  return std::nullopt;
}

void race_detector::fenced(agent_clock& who, bool global) {
  auto& of_cta = fences_[cta_of(who.id)];
  if (of_cta.empty()) of_cta.resize(domain_.agents_per_cta());
  auto& fences = of_cta[index_of(who.id)];
  fences.all.push_back(who.now);
  if (global) fences.global.push_back(who.now);
  domain_.advance(who);
}

} // namespace tylo::emulator
