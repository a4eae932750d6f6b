#pragma once

/// Accesses to memory that nothing orders. For each word the last write, and the reads since, are kept with their
/// clocks; an access is compared with those. Flanagan and Freund, FastTrack (2009). Of atomic accesses to a word that
/// nothing orders among themselves only the last counts.

#include <megakernels/tylo/emulator/internal/clock.hpp>
#include <megakernels/tylo/emulator/internal/symbols.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
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

/// An access that happened: of an agent at a clock. Clock 0: none.
struct past_access {
  std::uint32_t clock;
  std::uint32_t agent_and_flags;
  code_position position;
};

/// History of an aligned word of 4 bytes. Zero where there is none.
struct race_cell {
  past_access write;
  past_access read;
};

class race_detector {
public:
  explicit race_detector(clock_domain& domain)
      : domain_(domain), fences_(std::size_t(domain.ctas()) * domain.agents_per_cta()) {}

  /// Compares an access with all before it, and keeps it. `cells` is that of the word with the first byte, which is
  /// byte `first` of it.
  std::optional<conflict> check(race_cell* cells, std::size_t first, std::size_t bytes, access const&);

  /// The thread did a proxy fence.
  void fenced(agent_clock&);

private:
  static constexpr std::size_t fences_kept = 8;

  /// Reads that nothing orders: of each agent the last. A few in a list, more by agent.
  struct reads_of_cta {
    std::uint32_t cta = 0;
    std::unique_ptr<past_access[]> of; ///< by index
  };
  struct read_set {
    static constexpr std::uint32_t most_in_list = 12;
    std::array<past_access, most_in_list> list;
    std::uint32_t count = 0;
    std::vector<reads_of_cta> ctas;
  };
  using split_cell = std::array<race_cell, 4>; ///< of each byte of a word

  bool check_cell(race_cell&, access const&, conflict&);
  bool meets_write(race_cell const&, access const&, conflict&) const;
  bool meets_read(race_cell const&, access const&, conflict&) const;
  bool meets(past_access const&, bool wrote, access const&, conflict&) const;
  bool is_ordered(std::uint32_t clock, std::uint32_t agent, agent_clock const&) const;
  bool lacks_fence(past_access const&, access const&) const;
  void keep_read(race_cell&, access const&);
  void insert(read_set&, past_access const&);
  void insert_by_agent(read_set&, past_access const&);
  template <class F> bool any_read(read_set const&, F) const;
  std::uint32_t new_set();
  void drop_reads(race_cell&);
  split_cell& split(race_cell&);

  clock_domain& domain_;
  std::vector<std::array<std::uint32_t, fences_kept>> fences_; ///< of each agent, the last first
  std::deque<read_set> sets_;
  std::vector<std::uint32_t> unused_sets_;
  std::vector<std::unique_ptr<past_access[]>> unused_reads_;
  std::deque<split_cell> splits_;
};

} // namespace tylo::emulator
