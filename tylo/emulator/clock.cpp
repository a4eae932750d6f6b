#include <megakernels/tylo/emulator/internal/clock.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <stdexcept>

namespace tylo::emulator {
namespace {

/// Above all clocks of launches that have ended.
std::atomic<std::uint32_t> next_base = 1;
constexpr std::uint32_t last_base = 0x70000000; ///< clocks are compared with their sign

std::uint32_t take_base() {
  auto const base = next_base.load();
  if (base > last_base) throw std::length_error("emulator: launches of this process have used up the clocks");
  return base;
}

void raise_to(std::uint32_t least) {
  auto now = next_base.load();
  while (now < least && !next_base.compare_exchange_weak(now, least)) {
  }
}

/// Releases that a gathering keeps before it makes one clock of them.
constexpr std::size_t most_releases = 2048;

constexpr std::uint32_t at_once = 4;
using clocks_at_once [[gnu::vector_size(16)]] = std::int32_t;

clocks_at_once load(std::uint32_t const* from) {
  clocks_at_once c;
  std::memcpy(&c, from, sizeof c);
  return c;
}

bool is_any(clocks_at_once c) {
  std::uint64_t halves[2];
  std::memcpy(halves, &c, sizeof c);
  return (halves[0] | halves[1]) != 0;
}

constexpr unsigned first_is_less = 1, second_is_less = 2; ///< somewhere

unsigned compare_all(std::uint32_t const* a, std::uint32_t const* b, std::uint32_t count) {
  clocks_at_once a_less{}, b_less{};
  for (std::uint32_t i = 0; i < count; i += at_once) {
    auto const x = load(a + i), y = load(b + i);
    a_less |= x < y;
    b_less |= y < x;
  }
  return (is_any(a_less) ? first_is_less : 0) | (is_any(b_less) ? second_is_less : 0);
}

void store_greater(std::uint32_t* to, std::uint32_t const* a, std::uint32_t const* b, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; i += at_once) {
    auto const x = load(a + i), y = load(b + i);
    auto const greater = x < y ? y : x;
    std::memcpy(to + i, &greater, sizeof greater);
  }
}

} // namespace

void* detail::block_pool::take() {
  if (unused_.empty()) {
    constexpr std::size_t many = 32;
    memory_.push_back(std::make_unique<std::byte[]>(many * bytes_));
    for (std::size_t i = 0; i < many; ++i) unused_.push_back(memory_.back().get() + i * bytes_);
  }
  auto* const block = unused_.back();
  unused_.pop_back();
  return block;
}

clock_domain::clock_domain(std::uint32_t ctas, std::uint32_t agents_per_cta)
    : ctas_(ctas), agents_((agents_per_cta + agents_at_once - 1) / agents_at_once * agents_at_once), base_(take_base()),
      largest_(base_), chunks_(sizeof(detail::clock_chunk) + agents_ * sizeof(std::uint32_t)),
      objects_(sizeof(detail::clock_object) + ctas * sizeof(detail::clock_chunk*)), newest_(ctas), less_(ctas),
      operations_(std::size_t(ctas) * agents_, base_) {
  auto* const chunk = new_chunk();
  std::fill_n(chunk->values(), agents_, base_ - 1);
  chunk->references = 2 * ctas; // of the first clock, and the newest of each CTA
  chunk->version = 1;
  std::fill_n(newest_.begin(), ctas, chunk);
  auto* const first = new (objects_.take()) detail::clock_object{.domain = this};
  std::fill_n(first->chunks(), ctas, chunk);
  initial_ = clock_ref(first);
}

clock_domain::~clock_domain() { raise_to(largest_ + 1); }

detail::clock_chunk* clock_domain::new_chunk() { return new (chunks_.take()) detail::clock_chunk{.references = 1}; }

detail::clock_object* clock_domain::new_object(detail::clock_object& like) {
  auto* const object = new (objects_.take()) detail::clock_object{.domain = this};
  for (std::uint32_t c = 0; c < ctas_; ++c) {
    auto* const chunk = like.chunks()[c];
    ++chunk->references;
    object->chunks()[c] = chunk;
  }
  return object;
}

void clock_domain::drop(detail::clock_chunk* chunk) {
  if (--chunk->references == 0) chunks_.give(chunk);
}

void clock_domain::drop(detail::clock_object* object) {
  for (std::uint32_t c = 0; c < ctas_; ++c) drop(object->chunks()[c]);
  objects_.give(object);
}

/// The greater of each two. One of the arguments where it is that.
clock_ref clock_domain::join(clock_ref const& a, clock_ref const& b) {
  if (a == b || !b) return a;
  if (!a) return b;
  auto& m = memory_of(a, b);
  if (!(m.a == a && m.b == b)) m = {a, b, new_join(a, b)};
  return m.result;
}

clock_domain::remembered& clock_domain::memory_of(clock_ref const& a, clock_ref const& b) {
  auto const hash =
      (reinterpret_cast<std::uintptr_t>(a.object()) / 16) * 31 + reinterpret_cast<std::uintptr_t>(b.object()) / 16;
  return memory_of_joins_[hash / 4 % memory_of_joins_.size()];
}

unsigned clock_domain::compare(detail::clock_chunk& a, detail::clock_chunk& b) const {
  if (&a == &b) return 0;
  if (a.version == 0 || b.version == 0) return compare_all(a.values(), b.values(), agents_);
  return a.version < b.version ? first_is_less : second_is_less;
}

/// The chunk has been made, and may be the newest of its CTA.
void clock_domain::give_version(std::uint32_t cta, detail::clock_chunk& chunk) {
  auto*& newest = newest_[cta];
  if (chunk.version != 0 || (compare_all(chunk.values(), newest->values(), agents_) & first_is_less) != 0) return;
  chunk.version = newest->version + 1;
  ++chunk.references;
  drop(newest);
  newest = &chunk;
}

clock_ref clock_domain::new_join(clock_ref const& a, clock_ref const& b) {
  auto** const of_a = a.object()->chunks();
  auto** const of_b = b.object()->chunks();
  unsigned less = 0;
  for (std::uint32_t c = 0; c < ctas_; ++c) {
    auto const here = compare(*of_a[c], *of_b[c]);
    less_[c] = static_cast<std::uint8_t>(here);
    less |= here;
  }
  if ((less & first_is_less) == 0) return a;
  if ((less & second_is_less) == 0) return b;
  auto* const object = new_object(*a.object());
  for (std::uint32_t c = 0; c < ctas_; ++c) {
    if ((less_[c] & first_is_less) == 0) continue;
    auto*& chunk = object->chunks()[c];
    drop(chunk);
    if (less_[c] == first_is_less) {
      chunk = of_b[c];
      ++chunk->references;
    } else {
      chunk = new_chunk();
      store_greater(chunk->values(), of_a[c]->values(), of_b[c]->values(), agents_);
      give_version(c, *chunk);
    }
  }
  return clock_ref(object);
}

void clock_domain::release(agent_clock& c, gathering& g) {
  add(g, c);
  advance(c);
}

void clock_domain::add(gathering& g, agent_clock const& c) {
  if (g.own_.size() == most_releases) (void)value(g);
  if (!(c.known == g.last_)) {
    g.known_ = join(g.known_, c.known);
    g.last_ = c.known;
  }
  g.own_.emplace_back(c.id, c.now);
}

void clock_domain::acquire(agent_clock& c, clock_ref const& other) {
  if (!(c.known == other)) c.known = join(c.known, other);
}

clock_ref clock_domain::value(gathering& g) {
  if (g.own_.empty()) return g.known_;
  auto result = g.known_;
  for (auto const& [id, now] : g.own_) raise(result, g.known_, id, now);
  if (!(result == g.known_)) {
    for (std::uint32_t c = 0; c < ctas_; ++c)
      if (auto* const chunk = result.object()->chunks()[c]; chunk != g.known_.object()->chunks()[c])
        give_version(c, *chunk);
    memory_of(g.last_, result) = {g.last_, result, result}; // most who acquire it knew no more
  }
  g.own_.clear();
  g.known_ = result;
  return result;
}

/// One clock of `c`, which is `original` or what earlier calls made of it.
void clock_domain::raise(clock_ref& c, clock_ref const& original, agent_id id, std::uint32_t now) {
  if (c[id] >= now) return;
  if (c == original) c = clock_ref(new_object(*original.object()));
  auto*& chunk = c.object()->chunks()[cta_of(id)];
  if (chunk->references > 1) {
    auto* const own = new_chunk();
    std::memcpy(own->values(), chunk->values(), agents_ * sizeof(std::uint32_t));
    drop(chunk);
    chunk = own;
  }
  chunk->values()[index_of(id)] = now;
}

agent_clock clock_domain::operation(agent_clock& issuer, std::uint32_t cta, std::uint32_t index) {
  auto known = issuer.known;
  raise(known, issuer.known, issuer.id, issuer.now);
  give_version(cta_of(issuer.id), *known.object()->chunks()[cta_of(issuer.id)]);
  advance(issuer);
  auto& now = operations_[std::size_t(cta) * agents_ + index];
  largest_ = std::max(largest_, ++now);
  return {agent_of(cta, index), now, std::move(known), true};
}

} // namespace tylo::emulator
