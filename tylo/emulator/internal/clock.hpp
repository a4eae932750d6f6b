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
/// Agents of a CTA that are looked at together: a warp, or as many engines.
inline constexpr std::uint32_t agents_at_once = 32;

constexpr agent_id agent_of(std::uint32_t cta, std::uint32_t index) {
  return static_cast<agent_id>(cta << agent_index_bits | index);
}
constexpr std::uint32_t cta_of(agent_id id) { return static_cast<std::uint32_t>(id) >> agent_index_bits; }
constexpr std::uint32_t index_of(agent_id id) { return static_cast<std::uint32_t>(id) & (most_agents_per_cta - 1); }

class clock_domain;

namespace detail {

/// The clocks of all agents of one CTA, which lie behind it.
struct alignas(16) clock_chunk {
  std::uint32_t references = 0;
  std::uint32_t version = 0; ///< each is at least those of the CTA with a smaller one; 0: none is known

  [[nodiscard]] std::uint32_t* values() { return reinterpret_cast<std::uint32_t*>(this + 1); }
};

/// The chunks of all CTAs, which lie behind it.
struct clock_object {
  clock_domain* domain;
  std::size_t references = 0;

  [[nodiscard]] clock_chunk** chunks() { return reinterpret_cast<clock_chunk**>(this + 1); }
};

/// Blocks of one size. They end with the pool.
class block_pool {
public:
  explicit block_pool(std::size_t bytes) : bytes_((bytes + 15) / 16 * 16) {}
  void* take();
  void give(void* block) { unused_.push_back(block); }

private:
  std::size_t bytes_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<void*> unused_;
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

  std::uint32_t operator[](agent_id id) const { return of_cta(cta_of(id))[index_of(id)]; }
  /// Of all agents of a CTA, up to a multiple of `agents_at_once`.
  [[nodiscard]] std::uint32_t const* of_cta(std::uint32_t cta) const { return object_->chunks()[cta]->values(); }
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

  /// Whether what the agent did at that clock came before what this one does now.
  [[nodiscard]] bool knows(agent_id agent, std::uint32_t clock) const {
    return clock <= known[agent] || (agent == id && (!operation || clock == now));
  }
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
  struct remembered {
    clock_ref a, b, result;
  };

  detail::clock_chunk* new_chunk();
  /// With a share of each chunk of another.
  detail::clock_object* new_object(detail::clock_object&);
  void drop(detail::clock_chunk*);
  void drop(detail::clock_object*);
  clock_ref new_join(clock_ref const&, clock_ref const&);
  void raise(clock_ref&, clock_ref const& original, agent_id, std::uint32_t now);
  unsigned compare(detail::clock_chunk&, detail::clock_chunk&) const;
  void give_version(std::uint32_t cta, detail::clock_chunk&);
  remembered& memory_of(clock_ref const&, clock_ref const&);

  std::uint32_t ctas_;
  std::uint32_t agents_;
  std::uint32_t base_;
  std::uint32_t largest_;
  detail::block_pool chunks_;
  detail::block_pool objects_;
  clock_ref initial_;
  std::array<remembered, 16> memory_of_joins_;
  std::vector<detail::clock_chunk*> newest_; ///< of each CTA, by version
  std::vector<std::uint8_t> less_; ///< of each CTA, while joining: whether a clock of the first, of the second is
  std::vector<std::uint32_t> operations_; ///< clocks of the names of operations
};

inline void clock_ref::drop() const {
  if (object_ != nullptr && --object_->references == 0) object_->domain->drop(object_);
}

} // namespace tylo::emulator
