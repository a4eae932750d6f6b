#pragma once

/// What happened before what. Each agent, a thread of the kernel or an asynchronous operation, has a clock that goes on
/// when it tells others of something; and knows of each other agent up to which clock it has been told. Vector clocks
/// as in Mattern (1989), in pieces that are shared: threads that met at a barrier know the same.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tylo::emulator {

/// An agent of a launch: its CTA, and its number there.
enum class agent_id : std::uint32_t {};
inline constexpr unsigned agent_index_bits = 11;
inline constexpr std::uint32_t most_agents_per_cta = 1u << agent_index_bits;

constexpr agent_id agent_of(std::uint32_t cta, std::uint32_t index) {
  return static_cast<agent_id>(cta << agent_index_bits | index);
}
constexpr std::uint32_t cta_of(agent_id id) { return static_cast<std::uint32_t>(id) >> agent_index_bits; }
constexpr std::uint32_t index_of(agent_id id) { return static_cast<std::uint32_t>(id) & (most_agents_per_cta - 1); }

class clock_domain;

namespace detail {

/// The clocks of all agents of one CTA.
struct clock_chunk {
  std::uint32_t references = 0;
  std::uint32_t* values = nullptr;
};

struct clock_object {
  std::uint32_t references = 0;
  clock_domain* domain = nullptr;
  clock_chunk** chunks = nullptr; ///< of each CTA
};

} // namespace detail

/// What some agent knew at some time. Never changes.
class clock_ref {
public:
  clock_ref() = default;
  explicit clock_ref(detail::clock_object* of) : object_(of) { hold(); }
  clock_ref(clock_ref const& other) : object_(other.object_) { hold(); }
  clock_ref(clock_ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  clock_ref& operator=(clock_ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~clock_ref() { drop(); }

  std::uint32_t operator[](agent_id id) const { return object_->chunks[cta_of(id)]->values[index_of(id)]; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(clock_ref const& a, clock_ref const& b) { return a.object_ == b.object_; }
  [[nodiscard]] detail::clock_object* object() const { return object_; }

private:
  void hold() const {
    if (object_ != nullptr) ++object_->references;
  }
  void drop() const;

  detail::clock_object* object_ = nullptr;
};

/// An agent in time.
struct agent_clock {
  agent_id id{};
  std::uint32_t now = 0;
  clock_ref known;
  bool operation = false; ///< an asynchronous one: its names are used again for others
};

/// What has been released into something that others acquire from: a phase of a barrier, a word.
class gathering {
public:
  [[nodiscard]] bool empty() const { return !known_ && own_.empty(); }
  void clear() {
    known_ = {};
    last_ = {};
    own_.clear();
  }

private:
  friend class clock_domain;
  clock_ref known_;
  clock_ref last_; ///< that was joined into `known_`
  std::vector<std::pair<agent_id, std::uint32_t>> own_;
};

/// The clocks of one launch. Those of later launches are greater, so that all of a launch comes before all of the next.
class clock_domain {
public:
  clock_domain(std::uint32_t ctas, std::uint32_t agents_per_cta);
  ~clock_domain();
  clock_domain(clock_domain const&) = delete;
  clock_domain& operator=(clock_domain const&) = delete;

  /// Clocks below it are of earlier launches.
  [[nodiscard]] std::uint32_t base() const { return base_; }
  [[nodiscard]] std::uint32_t ctas() const { return ctas_; }
  [[nodiscard]] std::uint32_t agents_per_cta() const { return agents_; }

  /// A thread at its start.
  agent_clock thread(std::uint32_t cta, std::uint32_t index) { return {agent_of(cta, index), base_, initial_}; }
  /// An operation that `issuer` starts: it knows what the issuer knows.
  agent_clock operation(agent_clock& issuer, std::uint32_t cta, std::uint32_t index);

  /// The thread lets whoever acquires know of all that it did and knows.
  void release(agent_clock&, gathering&);
  /// The same for an operation that has been carried out.
  void add(gathering&, agent_clock const&);
  void acquire(agent_clock&, clock_ref const&);
  /// All that was released so far.
  clock_ref value(gathering&);
  /// The thread's next actions are told apart from those before.
  void advance(agent_clock& c) {
    ++c.now;
    if (c.now > largest_) largest_ = c.now;
  }

  clock_ref join(clock_ref const&, clock_ref const&);

private:
  friend class clock_ref;
  detail::clock_chunk* new_chunk();
  detail::clock_object* new_object();
  void drop(detail::clock_chunk*);
  void drop(detail::clock_object*);
  void add(gathering&, clock_ref const& known, agent_id, std::uint32_t now);
  detail::clock_chunk* join(detail::clock_chunk*, detail::clock_chunk*);

  struct remembered {
    clock_ref a, b, result;
  };

  std::uint32_t ctas_;
  std::uint32_t agents_;
  std::uint32_t base_;
  std::uint32_t largest_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<detail::clock_chunk*> unused_chunks_;
  std::vector<detail::clock_object*> unused_objects_;
  clock_ref initial_;
  std::array<remembered, 16> memory_of_joins_;
  std::vector<std::uint32_t> operations_; ///< clocks of the names of operations
};

inline void clock_ref::drop() const {
  if (object_ != nullptr && --object_->references == 0) object_->domain->drop(object_);
}

} // namespace tylo::emulator
