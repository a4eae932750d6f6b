#include <megakernels/tylo/emulator/internal/race.hpp>

#include <algorithm>
#include <utility>

namespace tylo::emulator {
namespace {

/// Beside the agent: how it accessed, and what stands in place of one access.
constexpr std::uint32_t agent_bits = (1u << 24) - 1;
constexpr std::uint32_t is_atomic = 1u << 31;
constexpr std::uint32_t is_async = 1u << 30;
constexpr std::uint32_t is_operation = 1u << 29; ///< of an asynchronous operation, whose name is used again
constexpr std::uint32_t is_set = 1u << 28;       ///< of reads: `clock` is the number of a read set
constexpr std::uint32_t is_split = 1u << 27;     ///< of the write: `clock` is the number of a split cell
/// `position` of the last two is the base of the launch that they belong to: those of earlier ones are gone.

past_access made_of(access const& a) {
  return {a.who.now,
          static_cast<std::uint32_t>(a.who.id) | (a.atomic ? is_atomic : 0) |
              (a.through == proxy::async ? is_async : 0) | (a.who.operation ? is_operation : 0),
          a.position};
}

agent_id agent_in(std::uint32_t agent_and_flags) { return static_cast<agent_id>(agent_and_flags & agent_bits); }

} // namespace

bool race_detector::is_ordered(std::uint32_t clock, std::uint32_t agent, agent_clock const& who) const {
  if (clock < domain_.base()) return true;
  auto const id = agent_in(agent);
  if (id == who.id && (!who.operation || clock == who.now)) return true;
  return clock <= who.known[id];
}

bool race_detector::lacks_fence(past_access const& before, access const& a) const {
  if (a.through != proxy::async || (before.agent_and_flags & is_async) != 0 || before.clock < domain_.base())
    return false;
  auto const id = agent_in(before.agent_and_flags);
  auto const& fences = fences_[std::size_t(cta_of(id)) * domain_.agents_per_cta() + index_of(id)];
  auto const known = a.who.known[id];
  return std::none_of(fences.begin(), fences.end(), [&](std::uint32_t f) { return before.clock <= f && f <= known; });
}

bool race_detector::meets(past_access const& before, bool wrote, access const& a, conflict& c) const {
  if (before.clock == 0) return false;
  bool const both_atomic = a.atomic && (before.agent_and_flags & is_atomic) != 0;
  bool const ordered = both_atomic || is_ordered(before.clock, before.agent_and_flags, a.who);
  bool const fence_missing = ordered && wrote && lacks_fence(before, a);
  if (ordered && !fence_missing) return false;
  c = {.other = agent_in(before.agent_and_flags),
       .other_wrote = wrote,
       .other_atomic = (before.agent_and_flags & is_atomic) != 0,
       .other_position = before.position,
       .byte = 0,
       .fence_missing = fence_missing};
  return true;
}

bool race_detector::meets_read(race_cell const& cell, access const& a, conflict& c) const {
  if ((cell.read.agent_and_flags & is_set) == 0) return meets(cell.read, false, a, c);
  if (static_cast<std::uint32_t>(cell.read.position) != domain_.base()) return false;
  return any_read(sets_[cell.read.clock], [&](past_access const& read) { return meets(read, false, a, c); });
}

/// Whether `f` holds for a read of the set; some of those that it is asked about are none.
template <class F> bool race_detector::any_read(read_set const& set, F f) const {
  if (std::any_of(set.list.begin(), set.list.begin() + set.count, f)) return true;
  return std::any_of(set.ctas.begin(), set.ctas.end(), [&](reads_of_cta const& reads) {
    return std::any_of(reads.of.get(), reads.of.get() + domain_.agents_per_cta(), f);
  });
}

bool race_detector::check_cell(race_cell& cell, access const& a, conflict& c) {
  auto const mine = made_of(a);
  auto const same = [&](past_access const& p) {
    return p.clock == mine.clock && p.agent_and_flags == mine.agent_and_flags;
  };
  if (a.write) {
    if (same(cell.write) && cell.read.clock == 0 && cell.read.agent_and_flags == 0) return true;
    if (meets(cell.write, true, a, c) || meets_read(cell, a, c)) return false;
    drop_reads(cell);
    cell.write = mine;
    return true;
  }
  if (same(cell.read)) return true;
  if (meets(cell.write, true, a, c)) return false;
  keep_read(cell, a);
  return true;
}

void race_detector::keep_read(race_cell& cell, access const& a) {
  auto const mine = made_of(a);
  auto& read = cell.read;
  bool const in_set =
      (read.agent_and_flags & is_set) != 0 && static_cast<std::uint32_t>(read.position) == domain_.base();
  if (in_set) return insert(sets_[read.clock], mine);
  bool const replaces =
      (read.agent_and_flags & is_set) != 0 || read.clock == 0 || is_ordered(read.clock, read.agent_and_flags, a.who);
  if (replaces) {
    read = mine;
    return;
  }
  auto const number = new_set();
  insert(sets_[number], read);
  insert(sets_[number], mine);
  read = {number, is_set, static_cast<code_position>(domain_.base())};
}

void race_detector::insert(read_set& set, past_access const& read) {
  if (!set.ctas.empty()) return insert_by_agent(set, read);
  auto const end = set.list.begin() + set.count;
  auto const found = std::find_if(set.list.begin(), end, [&](past_access const& p) {
    return agent_in(p.agent_and_flags) == agent_in(read.agent_and_flags);
  });
  if (found != end) {
    *found = read;
  } else if (set.count < read_set::most_in_list) {
    set.list[set.count++] = read;
  } else {
    for (auto const& p : set.list) insert_by_agent(set, p);
    set.count = 0;
    insert_by_agent(set, read);
  }
}

void race_detector::insert_by_agent(read_set& set, past_access const& read) {
  auto const id = agent_in(read.agent_and_flags);
  auto const found = std::find_if(set.ctas.begin(), set.ctas.end(), [&](auto const& r) { return r.cta == cta_of(id); });
  if (found != set.ctas.end()) {
    found->of[index_of(id)] = read;
    return;
  }
  if (unused_reads_.empty()) unused_reads_.push_back(std::make_unique<past_access[]>(domain_.agents_per_cta()));
  set.ctas.push_back({cta_of(id), std::move(unused_reads_.back())});
  unused_reads_.pop_back();
  set.ctas.back().of[index_of(id)] = read;
}

std::uint32_t race_detector::new_set() {
  if (unused_sets_.empty()) {
    sets_.emplace_back();
    return static_cast<std::uint32_t>(sets_.size() - 1);
  }
  auto const number = unused_sets_.back();
  unused_sets_.pop_back();
  return number;
}

void race_detector::drop_reads(race_cell& cell) {
  auto& read = cell.read;
  if ((read.agent_and_flags & is_set) != 0 && static_cast<std::uint32_t>(read.position) == domain_.base()) {
    for (auto& reads : sets_[read.clock].ctas) {
      std::fill_n(reads.of.get(), domain_.agents_per_cta(), past_access{});
      unused_reads_.push_back(std::move(reads.of));
    }
    sets_[read.clock].ctas.clear();
    sets_[read.clock].count = 0;
    unused_sets_.push_back(read.clock);
  }
  read = {};
}

/// The cells of a word's bytes, each with the word's history if it has none of its own yet.
race_detector::split_cell& race_detector::split(race_cell& cell) {
  auto& write = cell.write;
  if ((write.agent_and_flags & is_split) != 0) {
    if (static_cast<std::uint32_t>(write.position) == domain_.base()) return splits_[write.clock];
    cell = {};
  }
  auto& bytes = splits_.emplace_back();
  bytes.fill(cell);
  if ((cell.read.agent_and_flags & is_set) != 0) {
    bool const present = static_cast<std::uint32_t>(cell.read.position) == domain_.base();
    for (auto& byte : bytes) byte.read = {};
    for (auto& byte : bytes) {
      if (!present) continue;
      auto const number = new_set();
      (void)any_read(sets_[cell.read.clock], [&](past_access const& read) {
        if (read.clock != 0) insert(sets_[number], read);
        return false;
      });
      byte.read = {number, is_set, static_cast<code_position>(domain_.base())};
    }
    drop_reads(cell);
  }
  write = {static_cast<std::uint32_t>(splits_.size() - 1), is_split, static_cast<code_position>(domain_.base())};
  return bytes;
}

std::optional<conflict> race_detector::check(race_cell* cells, std::size_t first, std::size_t bytes, access const& a) {
  conflict c;
  for (std::size_t done = 0; done < bytes; ++cells) {
    auto const count = std::min(4 - first, bytes - done);
    if (count == 4 && (cells->write.agent_and_flags & is_split) == 0) {
      if (!check_cell(*cells, a, c)) {
        c.byte = done;
        return c;
      }
    } else {
      auto& of_bytes = split(*cells);
      for (std::size_t i = 0; i < count; ++i)
        if (!check_cell(of_bytes[first + i], a, c)) {
          c.byte = done + i;
          return c;
        }
    }
    done += count;
    first = 0;
  }
  return std::nullopt;
}

void race_detector::fenced(agent_clock& who) {
  auto& fences = fences_[std::size_t(cta_of(who.id)) * domain_.agents_per_cta() + index_of(who.id)];
  std::shift_right(fences.begin(), fences.end(), 1);
  fences.front() = who.now;
  domain_.advance(who);
}

} // namespace tylo::emulator
