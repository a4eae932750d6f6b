#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/internal/collective.hpp>
#include <megakernels/tylo/emulator/internal/matrix_arithmetic.hpp>
#include <megakernels/tylo/emulator/internal/products.hpp>
#include <megakernels/tylo/emulator/lane.hpp>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace tylo::emulator {
namespace {

/// Shared addresses start behind what a GPU keeps for itself.
constexpr std::uint32_t reserved_shared = 1024;
constexpr unsigned most_columns = 256;
constexpr std::uint32_t piece = 16; ///< bytes that a swizzle moves together: 8 elements

std::string place_of(char const* what, site at) { return std::string(what) + " at " + text_of(at) + ": "; }

/// Warps of a group, numbered as in the CTA.
std::string names_of_warps(unsigned bits, unsigned first) {
  std::string names;
  for (unsigned i = 0; i < warpgroup_warps; ++i)
    if ((bits >> i & 1) != 0) names += (names.empty() ? "" : ", ") + std::to_string(first + i);
  return names;
}

bool are_same(site a, site b) { return a.line == b.line && std::string_view(a.file) == b.file; }

/// What a warpgroup is, and who of which ones came to this multiply that waits for others.
std::string who_came_to(site at, cta const& home) {
  std::string text = "A warpgroup is four warps of which the first has a rank that is a multiple of four; of warpgroup";
  bool is_first = true;
  for (std::size_t g = 0; g < home.products.size(); ++g) {
    if (!home.products[g]) continue;
    unsigned bits = 0;
    for (auto const& i : home.products[g]->issued)
      if (are_same(i.at, at)) bits |= i.warps;
    if (bits == 0) continue;
    text += (is_first ? " " : ", of warpgroup ") + std::to_string(g) + " warps " +
            names_of_warps(bits, static_cast<unsigned>(g) * warpgroup_warps);
    is_first = false;
  }
  return text + " came";
}

product_group& group_of(warp const& w, char const* what, site at) {
  auto& home = *w.lanes[0]->home;
  auto const index = w.rank / warpgroup_warps;
  if ((index + 1) * warpgroup_warps > home.warps.size())
    launch_now->raise(fault_kind::misuse, place_of(what, at) + "a warpgroup has four warps, and the CTA ends after " +
                                              std::to_string(home.warps.size() - index * warpgroup_warps) +
                                              " of this one");
  auto& group = home.products[index];
  if (!group) group = std::make_shared<product_group>();
  return *group;
}

warp_products& products_of(warp const& w, char const* what, site at) {
  return group_of(w, what, at).warps[w.rank % warpgroup_warps];
}

// --- factors

/// PTX ISA, matrix descriptor of wgmma.
factor_layout decode(std::uint64_t bits, char const* name, site at) {
  auto const refuse = [&](std::string const& why) {
    launch_now->raise(fault_kind::descriptor,
                      place_of("multiply", at) + "the descriptor of factor " + name + " " + why);
  };
  constexpr std::uint64_t reserved =
      std::uint64_t(3) << 14 | std::uint64_t(3) << 30 | std::uint64_t(7) << 46 | std::uint64_t(0x3FF) << 52;
  if ((bits & reserved) != 0) refuse("has bits set that are reserved");
  if ((bits >> 49 & 7) != 0) refuse("has a base offset: the emulator takes tiles at a multiple of 1024 bytes");
  auto const field = [&](unsigned bit) { return static_cast<std::uint32_t>(bits >> bit & 0x3FFF) * piece; };
  // 0: none, 1: 128 bytes, 2: 64, 3: 32
  auto const mode = static_cast<unsigned>(bits >> 62);
  return {.start = field(0), .leading = field(16), .stride = field(32), .swizzle = mode == 0 ? 0 : 4 - mode};
}

/// Shared address of the 8 elements of a row that begin at column 0 or 8.
std::uint32_t address_of(factor_layout const& f, unsigned row, unsigned half) {
  auto const pitch = piece << f.swizzle; // between rows, of which eight lie next to each other
  auto const address = f.start + row / 8 * f.stride + row % 8 * pitch + half * (f.swizzle == 0 ? f.leading : piece);
  return address ^ (address >> 7 & ((1u << f.swizzle) - 1)) * piece;
}

std::byte* pointer_to(cta const& home, std::uint32_t address) { return home.shared + (address - reserved_shared); }

/// Checks that rows of a factor may be read, and records that the operation does.
void check_rows(warp_product const& p, factor_layout const& f, unsigned first, unsigned rows, char const* name) {
  auto const end = reserved_shared + launch_now->shape.shared_bytes;
  for (auto row = first; row < first + rows; ++row) {
    auto low = address_of(f, row, 0), high = address_of(f, row, 1);
    if (low > high) std::swap(low, high);
    if (low < reserved_shared || high + piece > end)
      launch_now->raise(fault_kind::descriptor,
                        place_of("multiply", p.at) + "row " + std::to_string(row) + " of factor " + name +
                            " is at shared address " + std::to_string(low < reserved_shared ? low : high) +
                            ", outside of the " + std::to_string(launch_now->shape.shared_bytes) +
                            " bytes of the CTA that start at " + std::to_string(reserved_shared));
    bool const together = low + piece == high;
    check_operation(pointer_to(*p.home, low), together ? 2 * piece : piece, false, p.clock, "multiply", p.at);
    if (!together) check_operation(pointer_to(*p.home, high), piece, false, p.clock, "multiply", p.at);
  }
}

/// A row of 16 elements, as fp32 numbers that lie `pitch` apart.
void widen_row(cta const& home, factor_layout const& f, unsigned row, float* to, std::size_t pitch) {
  for (unsigned half = 0; half < 2; ++half) {
    std::uint16_t elements[8];
    std::memcpy(elements, pointer_to(home, address_of(f, row, half)), sizeof elements);
    for (unsigned i = 0; i < 8; ++i) to[(half * 8 + i) * pitch] = float_of_bf16(elements[i]);
  }
}

void carry_out(warp_product const& p) {
  auto& sums = *p.sums;
  alignas(32) float a[matrix_rows * matrix_depth];
  alignas(32) float b[matrix_depth * most_columns];
  for (unsigned m = 0; m < matrix_rows; ++m) widen_row(*p.home, p.a, p.first_row + m, a + m * matrix_depth, 1);
  for (unsigned n = 0; n < sums.columns; ++n) widen_row(*p.home, p.b, n, b + n, sums.columns);
  if (!p.accumulate) std::fill(sums.values.begin(), sums.values.end(), 0.0f);
  multiply_add(sums.values.data(), a, b, sums.columns);
}

/// A warp's products are carried out in order, up to and with this one.
void carry_out_up_to(warp_products& of, std::uint64_t number) {
  while (!of.undone.empty() && of.undone.front()->number <= number) {
    carry_out(*of.undone.front());
    of.undone.pop_front();
  }
}

// --- instructions

struct lane_multiply {
  float* sums;
  unsigned columns;
  std::uint64_t a, b;
  bool accumulate;
  site at;
};

/// All warps of the group come to the same products, one after another.
void note_issued(warp const& w, product_group& group, lane_multiply const& m) {
  auto& state = *launch_now;
  auto const mine = w.rank % warpgroup_warps, base = w.rank - mine;
  auto const number = group.warps[mine].issued++;
  auto const place = [&] {
    return "warp " + std::to_string(w.rank) + " (of warpgroup " + std::to_string(w.rank / warpgroup_warps) +
           ") does multiply at " + text_of(m.at);
  };
  if (number - group.first == group.issued.size()) {
    group.issued.push_back({.at = m.at, .columns = m.columns, .a = m.a, .b = m.b, .accumulate = m.accumulate});
    ++state.counts.products;
  }
  auto& issued = group.issued[number - group.first];
  auto const others = names_of_warps(issued.warps, base);
  if (!are_same(issued.at, m.at))
    state.raise(fault_kind::divergence,
                place() + " while warps " + others + " were at multiply at " + text_of(issued.at));
  if (issued.a != m.a || issued.b != m.b || issued.columns != m.columns || issued.accumulate != m.accumulate)
    state.raise(fault_kind::divergence, place() + " with other factors than warps " + others);
  issued.warps |= 1u << mine;
  auto const& home = *w.lanes[0]->home;
  for (unsigned i = 0; i < warpgroup_warps; ++i)
    if (home.warps[base + i].ended != 0 && group.warps[i].issued <= number)
      state.raise(fault_kind::divergence,
                  place() + ", and warp " + std::to_string(base + i) + " of it has ended. " + who_came_to(m.at, home));
  constexpr unsigned all = (1u << warpgroup_warps) - 1;
  while (!group.issued.empty() && group.issued.front().warps == all) {
    group.issued.pop_front();
    ++group.first;
  }
}

void carry_out_multiply(warp& w) {
  auto& state = *launch_now;
  auto const& m = *static_cast<lane_multiply const*>(w.lanes[0]->argument);
  auto& group = group_of(w, "multiply", m.at);
  auto& of = group.warps[w.rank % warpgroup_warps];
  for (auto const* const t : w.lanes) {
    auto const& other = *static_cast<lane_multiply const*>(t->argument);
    if (other.a != m.a || other.b != m.b || other.columns != m.columns || other.accumulate != m.accumulate)
      state.raise(fault_kind::divergence, place_of("multiply", m.at) + "lanes of a warp give different factors");
  }
  if (m.columns == 0 || m.columns % 8 != 0 || m.columns > most_columns)
    state.raise(fault_kind::misuse,
                place_of("multiply", m.at) + std::to_string(m.columns) + " columns: a multiple of 8 up to 256");
  note_issued(w, group, m);
  auto product = std::make_shared<warp_product>();
  product->at = m.at;
  product->home = w.lanes[0]->home;
  product->first_row = w.rank % warpgroup_warps * matrix_rows;
  product->a = decode(m.a, "a", m.at);
  product->b = decode(m.b, "b", m.at);
  product->accumulate = m.accumulate;
  product->clock = state.clock_of_operation(*product->home, "multiply", m.at);
  check_rows(*product, product->a, product->first_row, matrix_rows, "a");
  check_rows(*product, product->b, 0, m.columns, "b");
  std::array<float*, warp_lanes> registers;
  for (unsigned i = 0; i < warp_lanes; ++i)
    registers[i] = static_cast<lane_multiply const*>(w.lanes[i]->argument)->sums;
  product->sums = take_sums(w, of, registers, m.columns, m.at);
  ++product->sums->unfinished;
  product->number = of.issued;
  of.undone.push_back(product);
  of.open.push_back(product);
  product->operation =
      state.start("multiply", m.at, 0, 0, [&of, number = product->number] { carry_out_up_to(of, number); });
}

struct lane_place {
  site at;
};

void carry_out_fence(warp& w) {
  auto const at = static_cast<lane_place const*>(w.lanes[0]->argument)->at;
  note_fence(w, products_of(w, "fence_products", at), at);
}

void carry_out_commit(warp& w) {
  auto& of = products_of(w, "commit_products", static_cast<lane_place const*>(w.lanes[0]->argument)->at);
  of.groups.push_back(std::exchange(of.open, {}));
}

struct lane_await {
  unsigned pending;
  float* sums;
  unsigned columns;
  site at;
};

void carry_out_await(warp& w) {
  auto& state = *launch_now;
  auto const& m = *static_cast<lane_await const*>(w.lanes[0]->argument);
  auto& of = products_of(w, "await_products", m.at);
  gathering done;
  bool finished = false;
  for (; of.groups.size() > m.pending; of.groups.pop_front())
    for (auto const& p : of.groups.front()) {
      finished = true;
      state.finish(p->operation);
      state.clocks.add(done, p->clock);
      --p->sums->unfinished;
    }
  if (!done.empty()) {
    auto const known = state.clocks.value(done);
    for (auto* const t : w.lanes) state.clocks.acquire(t->clock, known);
  }
  auto const found = std::find_if(of.sums.begin(), of.sums.end(), [&](auto const& s) {
    return std::equal(w.lanes.begin(), w.lanes.end(), s->registers.begin(),
                      [](thread const* t, float const* registers) {
                        return static_cast<lane_await const*>(t->argument)->sums == registers;
                      });
  });
  if (found == of.sums.end()) {
    // Sums that no product has written yet, or that have come back, may be named again.
    if (of.sums.empty() || !finished || were_delivered(*w.lanes[0], m.sums, m.columns)) return;
    state.raise(fault_kind::products, place_of("await_products", m.at) +
                                          "these sums are not those of any product under way: " +
                                          "sums may not be moved or copied while one is");
  }
  auto const sums = *found;
  if (sums->unfinished == 0) return deliver(w, of, sums);
  sums->awaited = m.at;
  sums->awaited_but = m.pending;
  auto const is_open = std::find_if(of.open.begin(), of.open.end(), [&](auto const& p) { return p->sums == sums; });
  if (m.pending == 0 && is_open != of.open.end())
    state.raise(fault_kind::products, place_of("await_products", m.at) + "the product from " + text_of((*is_open)->at) +
                                          " was never committed: nothing waits for it");
}

} // namespace

void check_products_at_end(thread const& t) {
  auto const& group = t.home->products[t.team->rank / warpgroup_warps];
  if (!group) return;
  auto const mine = t.team->rank % warpgroup_warps, base = t.team->rank - mine;
  auto const& of = group->warps[mine];
  for (auto const& s : of.sums)
    launch_now->raise(fault_kind::exit,
                      s->unfinished > 0
                          ? "a thread ends before it has waited for its product from multiply at " + text_of(s->product)
                          : "a thread ends, and the sums of its product from multiply at " + text_of(s->product) +
                                " were never awaited: no await_products has named them");
  for (unsigned i = 0; i < warpgroup_warps; ++i)
    if (group->warps[i].issued > of.issued) {
      auto const& missed = group->issued[of.issued - group->first];
      launch_now->raise(fault_kind::divergence, "warp " + std::to_string(t.team->rank) + " (of warpgroup " +
                                                    std::to_string(t.team->rank / warpgroup_warps) +
                                                    ") ends and never came to multiply at " + text_of(missed.at) +
                                                    ", where warps " + names_of_warps(missed.warps, base) + " were. " +
                                                    who_came_to(missed.at, *t.home));
    }
}

std::uint32_t factor_address(void const* tile, unsigned column, site at) {
  constexpr unsigned tile_alignment = 1024, tile_columns = 64, columns = 16;
  inside_emulator const inside;
  if (!is_own_shared(tile))
    launch_now->raise(fault_kind::bounds,
                      place_of("factor_of", at) + name_of_address(tile) + " is not in shared memory of the CTA");
  auto const offset = static_cast<std::uint32_t>(offset_in_shared(tile, *thread_now->home));
  if (offset % tile_alignment != 0)
    launch_now->raise(fault_kind::descriptor, place_of("factor_of", at) + "the tile is at byte " +
                                                  std::to_string(offset) +
                                                  " of shared memory, and has to be at a multiple of 1024");
  if (column % columns != 0 || column >= tile_columns)
    launch_now->raise(fault_kind::descriptor, place_of("factor_of", at) + "column " + std::to_string(column) +
                                                  ", and it has to be a multiple of 16 below 64");
  return reserved_shared + offset + column * 2;
}

void fence_products(site at) {
  inside_emulator const inside;
  if (launch_now->leaves_out("fence", "fence_products", at)) return;
  lane_place place{at};
  collective("fence_products", true, at, &place, &carry_out_fence);
}

void multiply(float* sums, unsigned columns, std::uint64_t a, std::uint64_t b, bool accumulate, site at) {
  inside_emulator const inside;
  lane_multiply m{sums, columns, a, b, accumulate, at};
  collective("multiply", true, at, &m, &carry_out_multiply);
}

void commit_products(site at) {
  inside_emulator const inside;
  if (launch_now->leaves_out("commit", "commit_products", at)) return;
  lane_place place{at};
  collective("commit_products", true, at, &place, &carry_out_commit);
}

void await_products(unsigned pending, float* sums, unsigned columns, site at) {
  inside_emulator const inside;
  if (launch_now->leaves_out("wait", "await_products", at)) return;
  lane_await m{pending, sums, columns, at};
  collective("await_products", true, at, &m, &carry_out_await);
}

} // namespace tylo::emulator
