#pragma once

/// What the threads of a team do, at random, and what that needs.

#include "program.hpp"
#include "step_writer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mk::test::random_lanes {

/// Writes steps of one team between two meetings of the CTA. Whatever needs an order gets it just before, and there is
/// nothing else that would order it: that makes it needed.
class team_writer : step_writer {
public:
  team_writer(generator& random, shape const& of, unsigned team, std::vector<planned>& to)
      : step_writer(random, of, of.team_size(team), to) {}

  void any_step() {
    switch (below(random_, 12)) {
    case 0:
    case 1:
    case 2:
      return compute();
    case 3:
    case 4:
      return put(any_shared());
    case 5:
    case 6:
      return get(below(random_, cta_block));
    case 7:
      return get_matrix(any_shared());
    case 8:
      return load(any_shared());
    case 9:
      return load_stored(any_shared(), any_stored());
    case 10:
      return store(any_shared(), any_stored());
    default:
      return copy(any_shared());
    }
  }

  void put(unsigned block) {
    auto const k = any_turn();
    auto& b = before_put(block, k);
    add({.what = act::put, .a = any_register(), .block = static_cast<std::uint8_t>(block), .k = k});
    wrote(b, k);
  }

  void send(unsigned number) {
    note_message();
    add({.what = act::await_empty}, number >= of_.stages);
    if (of_.kind == messages::by_loads) {
      add({.what = act::arrive_full}, true);
      add({.what = act::send_load, .k = any_offset()});
    } else {
      add({.what = act::send, .a = any_register(), .k = any_turn()});
      add({.what = act::arrive_full}, true);
    }
  }
  void receive(unsigned number, unsigned of) {
    note_message();
    add({.what = act::await_full}, true);
    add({.what = act::receive, .a = any_register(), .k = static_cast<std::uint16_t>(below(random_, of_.first_team))});
    add({.what = act::arrive_empty}, number + of_.stages < of);
  }

  /// Nothing is under way any more, and the copy engine may see all.
  void end() {
    for (unsigned b = 0; b < shared_blocks; ++b)
      if (blocks_[b].is_loading) await_load(b, false);
    if (!copies_.empty()) await_copies(copies_.size(), false);
    if (!stores_.empty()) await_stores(stores_.size(), false);
    fence(false);
  }

private:
  /// A quarter of the threads has the words: others than at any turn.
  static constexpr std::uint16_t no_turn = 0xFFFF;
  /// Of the writes by threads: each has fenced its own since, and told the others.
  enum class fenced : std::uint8_t { and_told, and_maybe_told, by_each, no };

  struct block_state {
    known written = known::no, read = known::no;          ///< by threads, and not all know
    std::uint16_t put_turn = no_turn, get_turn = no_turn; ///< of the last such
    fenced fence = fenced::and_told;
    known only_leader_knows = known::no; ///< that a store has ended
    bool was_awaited = false;            ///< a load, since the team met
    bool is_loading = false, load_is_sure = true;
    std::optional<unsigned> loads_from;           ///< the stored block that a load under way reads
    std::optional<unsigned> copy, reader, writer; ///< numbers of groups
  };
  /// A group of copies, which ends with the step that commits it.
  struct group {
    unsigned number;
    std::size_t commit;
    unsigned block;
    std::uint16_t turn;
    bool sure = true;
  };

  unsigned any_shared() { return below(random_, shared_blocks); }
  unsigned any_stored() { return shared_blocks + below(random_, stored_blocks); }

  using step_writer::add;
  std::size_t add(act what, unsigned block, bool needed = false) {
    return add({.what = what, .block = static_cast<std::uint8_t>(block)}, needed);
  }

  void compute() {
    auto const what = static_cast<act>(1 + below(random_, static_cast<unsigned>(act::product)));
    add({.what = what, .a = any_register(), .b = any_register(), .k = static_cast<std::uint16_t>(below(random_, 32))});
  }

  void get(unsigned block) {
    auto const k = any_turn();
    auto& b = before_get(block, k);
    add({.what = act::get, .a = any_register(), .block = static_cast<std::uint8_t>(block), .k = k});
    b.read = known::yes;
    b.get_turn = k;
  }
  void get_matrix(unsigned block) {
    auto& b = before_get(block, no_turn);
    add({.what = act::get_matrix,
         .a = any_register(),
         .block = static_cast<std::uint8_t>(block),
         .k = static_cast<std::uint16_t>(below(random_, 8))});
    b.read = known::yes;
    b.get_turn = no_turn;
  }

  void load(unsigned block) {
    auto& b = before_load(block);
    add(act::expect_load, block, true);
    add({.what = act::load, .block = static_cast<std::uint8_t>(block), .k = any_offset()});
    b.is_loading = b.load_is_sure = true;
  }
  void load_stored(unsigned block, unsigned from) {
    auto& source = blocks_[from];
    if (source.writer) await_stores(place_of(stores_, *source.writer), true);
    auto& b = before_load(block);
    add(act::expect_load, block, true);
    add({.what = act::load_stored, .block = static_cast<std::uint8_t>(block), .b = static_cast<std::uint16_t>(from)});
    b.is_loading = b.load_is_sure = true;
    b.loads_from = from;
  }

  void store(unsigned block, unsigned to) {
    auto& target = blocks_[to];
    if (target.writer) await_stores(place_of(stores_, *target.writer), true);
    for (unsigned i = 0; i < shared_blocks; ++i)
      if (blocks_[i].loads_from == to) settle(i);
    auto& source = blocks_[block];
    settle(block);
    if (source.fence == fenced::no) fence(true);
    if (source.fence != fenced::and_told || source.written != known::no || target.read != known::no)
      meet(source.fence == fenced::by_each || source.written == known::yes || target.read == known::yes);
    add({.what = act::store, .block = static_cast<std::uint8_t>(block), .b = static_cast<std::uint16_t>(to)});
    stores_.push_back({next_group_++, add(act::commit_store, 0), block, no_turn});
    source.reader = target.writer = stores_.back().number;
  }

  void copy(unsigned block) {
    bool const wide = one_in(random_, 2);
    auto const k = any_turn();
    auto const turn = wide ? no_turn : k;
    auto& b = before_put(block, turn);
    add({.what = wide ? act::copy_16 : act::copy_4,
         .block = static_cast<std::uint8_t>(block),
         .b = any_offset(),
         .k = k});
    names_are_used();
    copies_.push_back({next_group_++, add(act::commit_copy, 0), block, turn});
    b.copy = copies_.back().number;
  }

  // What comes before an access.

  block_state& before_get(unsigned block, std::uint16_t turn) {
    settle(block);
    auto& b = blocks_[block];
    auto const stored = block < shared_blocks ? known::no : b.only_leader_knows; // reads of a store do not matter
    if (b.written != known::no || stored != known::no)
      meet(stored == known::yes || (b.written == known::yes && turn != b.put_turn));
    return b;
  }
  block_state& before_put(unsigned block, std::uint16_t turn) {
    settle(block);
    auto& b = blocks_[block];
    if (b.reader) await_reads(place_of(stores_, *b.reader));
    if (b.written != known::no || b.read != known::no || b.only_leader_knows != known::no)
      meet(b.only_leader_knows == known::yes || (b.written == known::yes && turn != b.put_turn) ||
           (b.read == known::yes && turn != b.get_turn));
    return b;
  }
  block_state& before_load(unsigned block) {
    settle(block);
    auto& b = blocks_[block];
    if (b.reader) await_reads(place_of(stores_, *b.reader));
    if (b.fence == fenced::no) fence(true);
    if (b.fence != fenced::and_told || b.written != known::no || b.read != known::no || b.was_awaited)
      meet(b.fence == fenced::by_each || b.written == known::yes || b.read == known::yes);
    return b;
  }

  static void make_less_sure(known& k) {
    if (k == known::yes) k = known::maybe;
  }
  /// Messages that go to and fro may have told threads of a team what others of it did.
  void note_message() {
    for (auto& b : blocks_) {
      for (auto* const k : {&b.written, &b.read, &b.only_leader_knows}) make_less_sure(*k);
      if (b.fence == fenced::by_each) b.fence = fenced::and_maybe_told;
    }
    names_are_used();
  }
  /// So many copies have begun that one of them may have the name of a load or store under way: to have waited for it
  /// counts as having waited for that.
  void names_are_used() {
    for (auto& b : blocks_) b.load_is_sure = false;
    for (auto& g : stores_) g.sure = false;
  }
  void wrote(block_state& b, std::uint16_t turn) {
    b.written = known::yes;
    b.put_turn = turn;
    b.fence = fenced::no;
  }

  /// Nothing is going to write the block.
  void settle(unsigned block) {
    auto const& b = blocks_[block];
    if (b.is_loading) await_load(block, true);
    if (b.copy) await_copies(place_of(copies_, *b.copy), true);
    if (b.writer) await_stores(place_of(stores_, *b.writer), true);
  }

  /// How many groups end with this one.
  static std::size_t place_of(std::vector<group> const& groups, unsigned number) {
    auto const at = std::find_if(groups.begin(), groups.end(), [&](group const& g) { return g.number == number; });
    return static_cast<std::size_t>(at - groups.begin()) + 1;
  }

  void await_load(unsigned block, bool needed) {
    auto& b = blocks_[block];
    add(act::await_load, block, needed && b.load_is_sure);
    b.is_loading = false;
    b.was_awaited = true;
    b.loads_from.reset();
    for (auto& other : blocks_) make_less_sure(other.only_leader_knows); // the load may have told the others
  }

  /// Waits for the first `count` groups, or more of them. Returns how many.
  std::size_t await_groups(act what, std::vector<group> const& groups, std::size_t count, bool needed) {
    constexpr std::size_t most_pending = 2;
    auto const pending = std::min(groups.size() - count, most_pending);
    needed = needed && groups[count - 1].sure;
    add({.what = what, .k = static_cast<std::uint16_t>(pending)}, needed);
    if (needed && pending == groups.size() - count) to_[groups[count - 1].commit].needed = true;
    return groups.size() - pending;
  }
  void await_copies(std::size_t count, bool needed) {
    count = await_groups(act::await_copy, copies_, count, needed);
    for (std::size_t i = 0; i < count; ++i) {
      auto& b = blocks_[copies_[i].block];
      if (b.copy != copies_[i].number) continue;
      b.copy.reset();
      wrote(b, copies_[i].turn);
    }
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  void await_reads(std::size_t count) { were_read(await_groups(act::await_read, stores_, count, true)); }
  void await_stores(std::size_t count, bool needed) {
    count = await_groups(act::await_store, stores_, count, needed);
    were_read(count);
    for (std::size_t i = 0; i < count; ++i)
      for (auto& b : blocks_)
        if (b.writer == stores_[i].number) {
          b.writer.reset();
          b.only_leader_knows = known::yes;
        }
    stores_.erase(stores_.begin(), stores_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  void were_read(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      for (auto& b : blocks_)
        if (b.reader == stores_[i].number) {
          b.reader.reset();
          b.only_leader_knows = known::yes;
        }
  }

  void fence(bool needed) {
    add({.what = act::fence}, needed);
    for (auto& b : blocks_)
      if (b.fence == fenced::no) b.fence = fenced::by_each;
  }

  /// The team meets, in one of the ways that it can.
  void meet(bool needed) {
    switch (below(random_, 4)) {
    case 0:
      add({.what = size_ == of_.threads ? act::meet_cta : act::meet_named}, needed);
      break;
    case 1:
      add({.what = size_ == 32 ? act::meet_warp : act::meet_named}, needed);
      break;
    case 2:
      add({.what = act::meet_named}, needed);
      break;
    default:
      add({.what = act::arrive}, needed);
      add({.what = act::await_arrivals}, needed);
    }
    for (auto& b : blocks_) {
      b.written = b.read = b.only_leader_knows = known::no;
      b.was_awaited = false;
      if (b.fence != fenced::no) b.fence = fenced::and_told;
    }
  }

  std::array<block_state, cta_block> blocks_{};
  std::vector<group> copies_, stores_;
  unsigned next_group_ = 0;
};

} // namespace mk::test::random_lanes
