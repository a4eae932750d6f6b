#pragma once

/// Accesses to memory that nothing orders. For each word the last ordinary write is kept, and of all agents their last
/// reads and atomic accesses since, with their clocks; an access is compared with those. As in Flanagan and Freund,
/// FastTrack (2009), to which atomic accesses, bytes and proxies are added. No access is forgotten that a later one
/// could race with.

#include <megakernels/tylo/emulator/internal/clock.hpp>
#include <megakernels/tylo/emulator/internal/symbols.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace tylo::emulator {

/// The way of an access to memory. Ordinary accesses go through the generic proxy; copies and products through the
/// async one, which sees writes of the other only after a fence of their writer. PTX ISA: proxies.
enum class proxy : std::uint8_t { generic, async };

struct access {
  agent_clock const& who;
  code_position position;
  bool write;
  bool atomic;
  proxy through;
  bool global = false; ///< to global memory, for which a proxy fence for shared memory does nothing
};

/// What an access meets.
struct conflict {
  agent_id other;
  bool other_wrote;
  bool other_atomic;
  code_position other_position;
  std::size_t byte;   ///< of the access
  bool fence_missing; ///< it is ordered, but for a proxy fence
};

/// The last write that was not atomic. Clock 0: none.
struct past_write {
  std::uint32_t clock;
  std::uint32_t agent; ///< and a bit for the async proxy
  code_position position;
};

/// Reads or atomic accesses of one kind, of a warp's worth of agents, at one clock and place.
struct past_accesses {
  std::uint32_t clock;
  std::uint32_t kind; ///< and the agents' number divided by 32. 0: none
  code_position position;
  std::uint32_t lanes; ///< which of the agents; 0: none any more
};

/// History of an aligned word of 4 bytes. Zero where there is none.
struct race_cell {
  past_write write;
  std::uint32_t more;   ///< 0; or the number of a set that holds the accesses since; or of the cells of each byte
  past_accesses others; ///< since the write. Beside `more` only its clock means something: it tells the launch
};

class race_detector {
public:
  explicit race_detector(clock_domain& domain) : domain_(domain), fences_(domain.ctas()) {}

  /// Compares an access with all before it, and keeps it. `cells` is that of the word with the first byte, which is
  /// byte `first` of it.
  std::optional<conflict> check(race_cell* cells, std::size_t first, std::size_t bytes, access const&);

  /// The thread did a proxy fence: for shared memory, or, where `global`, for all memory.
  void fenced(agent_clock&, bool global);

private:
  /// A hash table by kind and agents.
  struct access_set {
    std::vector<past_accesses> slots;
    std::size_t used = 0;
    std::uint32_t kinds = 0; ///< that it has ever held, a bit each
  };
  using split_cell = std::array<race_cell, 4>; ///< of each byte of a word
  /// Clocks of its proxy fences, in their order.
  struct fences_of_agent {
    std::vector<std::uint32_t> all; ///< each is one for shared memory
    std::vector<std::uint32_t> global;
  };
  struct visit;

  bool check_cell(race_cell&, visit&);
  bool check_bytes(race_cell&, std::size_t first, std::size_t count, visit&, std::size_t& wrong);
  bool meets(past_write const&, visit&) const;
  bool meets(past_accesses const&, visit&) const;
  bool meets(access_set const&, visit&) const;
  bool lacks_fence(agent_id, std::uint32_t clock, visit const&) const;
  void keep(race_cell&, visit const&);
  void insert(access_set&, visit const&);
  static void insert(access_set&, past_accesses const&);
  std::uint32_t new_set();
  void drop_set(std::uint32_t number);
  split_cell& split(race_cell&);
  bool is_of_this_launch(race_cell const& cell) const { return cell.others.clock >= domain_.base(); }

  clock_domain& domain_;
  std::vector<std::vector<fences_of_agent>> fences_; ///< of each CTA and agent
  std::vector<access_set> sets_;
  std::vector<std::uint32_t> unused_sets_;
  std::deque<split_cell> splits_;
  std::vector<std::uint32_t> unused_splits_;
};

} // namespace tylo::emulator
