#include <megakernels/tylo/emulator/internal/clock.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

namespace tylo::emulator {
namespace {

/// Above all clocks of launches that have ended.
std::atomic<std::uint32_t> next_base = 1;

void raise_to(std::uint32_t least) {
  auto now = next_base.load();
  while (now < least && !next_base.compare_exchange_weak(now, least)) {
  }
}

/// Keeps what is destroyed early from being used late: references of members go first.
constexpr std::size_t chunk_header = 64;

} // namespace

clock_domain::clock_domain(std::uint32_t ctas, std::uint32_t agents_per_cta)
    : ctas_(ctas), agents_((agents_per_cta + 15) / 16 * 16), base_(next_base.load()), largest_(base_),
      operations_(std::size_t(ctas) * agents_, base_) {
  auto* const first = new_object();
  auto* const chunk = new_chunk();
  std::fill_n(chunk->values, agents_, base_ - 1);
  for (std::uint32_t c = 0; c < ctas_; ++c) {
    first->chunks[c] = chunk;
    ++chunk->references;
  }
  initial_ = clock_ref(first);
}

clock_domain::~clock_domain() {
  raise_to(largest_ + 1);
  initial_ = {};
  for (auto& m : memory_of_joins_) m = {};
}

detail::clock_chunk* clock_domain::new_chunk() {
  if (unused_chunks_.empty()) {
    constexpr std::size_t many = 32;
    auto const bytes = chunk_header + agents_ * sizeof(std::uint32_t);
    memory_.push_back(std::make_unique<std::byte[]>(many * bytes));
    for (std::size_t i = 0; i < many; ++i) {
      auto* const at = memory_.back().get() + i * bytes;
      unused_chunks_.push_back(new (at)
                                   detail::clock_chunk{.values = reinterpret_cast<std::uint32_t*>(at + chunk_header)});
    }
  }
  auto* const chunk = unused_chunks_.back();
  unused_chunks_.pop_back();
  return chunk;
}

detail::clock_object* clock_domain::new_object() {
  if (unused_objects_.empty()) {
    constexpr std::size_t many = 32;
    auto const bytes = sizeof(detail::clock_object) + ctas_ * sizeof(detail::clock_chunk*);
    memory_.push_back(std::make_unique<std::byte[]>(many * bytes));
    for (std::size_t i = 0; i < many; ++i) {
      auto* const at = memory_.back().get() + i * bytes;
      unused_objects_.push_back(new (at) detail::clock_object{
          .domain = this, .chunks = reinterpret_cast<detail::clock_chunk**>(at + sizeof(detail::clock_object))});
    }
  }
  auto* const object = unused_objects_.back();
  unused_objects_.pop_back();
  return object;
}

void clock_domain::drop(detail::clock_chunk* chunk) {
  if (--chunk->references == 0) unused_chunks_.push_back(chunk);
}

void clock_domain::drop(detail::clock_object* object) {
  for (std::uint32_t c = 0; c < ctas_; ++c) drop(object->chunks[c]);
  unused_objects_.push_back(object);
}

/// The greater of each two. One of the arguments where it is that; the result is to be held.
detail::clock_chunk* clock_domain::join(detail::clock_chunk* a, detail::clock_chunk* b) {
  if (a == b) return a;
  std::uint32_t a_is_less = 0, b_is_less = 0;
  for (std::uint32_t i = 0; i < agents_; ++i) {
    a_is_less |= a->values[i] < b->values[i] ? 1u : 0u;
    b_is_less |= b->values[i] < a->values[i] ? 1u : 0u;
  }
  if (a_is_less == 0) return a;
  if (b_is_less == 0) return b;
  auto* const result = new_chunk();
  for (std::uint32_t i = 0; i < agents_; ++i) result->values[i] = std::max(a->values[i], b->values[i]);
  return result;
}

clock_ref clock_domain::join(clock_ref const& a, clock_ref const& b) {
  if (a == b || !b) return a;
  if (!a) return b;
  auto const hash =
      (reinterpret_cast<std::uintptr_t>(a.object()) / 16) * 31 + reinterpret_cast<std::uintptr_t>(b.object()) / 16;
  auto& m = memory_of_joins_[hash / 4 % memory_of_joins_.size()];
  if (m.a == a && m.b == b) return m.result;
  auto* const object = new_object();
  bool is_a = true, is_b = true;
  for (std::uint32_t c = 0; c < ctas_; ++c) {
    auto *const x = a.object()->chunks[c], *const y = b.object()->chunks[c];
    auto* const chunk = join(x, y);
    ++chunk->references;
    object->chunks[c] = chunk;
    is_a = is_a && chunk == x;
    is_b = is_b && chunk == y;
  }
  clock_ref joined(object);
  m = {a, b, is_a ? a : is_b ? b : joined};
  return m.result;
}

void clock_domain::add(gathering& g, clock_ref const& known, agent_id id, std::uint32_t now) {
  if (!(known == g.last_)) {
    g.known_ = join(g.known_, known);
    g.last_ = known;
  }
  g.own_.emplace_back(id, now);
}

void clock_domain::release(agent_clock& c, gathering& g) {
  add(g, c.known, c.id, c.now);
  advance(c);
}

void clock_domain::add(gathering& g, agent_clock const& c) { add(g, c.known, c.id, c.now); }

void clock_domain::acquire(agent_clock& c, clock_ref const& other) { c.known = join(c.known, other); }

clock_ref clock_domain::value(gathering& g) {
  if (g.own_.empty()) return g.known_;
  auto* const object = new_object();
  for (std::uint32_t c = 0; c < ctas_; ++c) {
    object->chunks[c] = g.known_.object()->chunks[c];
    ++object->chunks[c]->references;
  }
  clock_ref result(object);
  for (auto const& [id, now] : g.own_) {
    auto*& chunk = object->chunks[cta_of(id)];
    if (chunk->references > 1) {
      auto* const copy = new_chunk();
      std::memcpy(copy->values, chunk->values, agents_ * sizeof(std::uint32_t));
      ++copy->references;
      drop(chunk);
      chunk = copy;
    }
    auto& value = chunk->values[index_of(id)];
    value = std::max(value, now);
  }
  g.own_.clear();
  g.known_ = result;
  g.last_ = {};
  return result;
}

agent_clock clock_domain::operation(agent_clock& issuer, std::uint32_t cta, std::uint32_t index) {
  gathering g;
  release(issuer, g);
  auto& now = operations_[std::size_t(cta) * agents_ + index];
  largest_ = std::max(largest_, ++now);
  return {agent_of(cta, index), now, value(g), true};
}

} // namespace tylo::emulator
