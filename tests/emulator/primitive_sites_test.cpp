/// Each wait, arrival, fence, barrier and commit in small kernels of the lane functions is there for a reason: without
/// it some schedule faults or gives other words. Those for which that is not so are listed with their reasons, and no
/// others.

#include <megakernels/tylo/emulator/tensor_map.hpp>
#include <megakernels/tylo/lane/memory.hpp>

#include "kit.hpp"
#include "lane_data.hpp"
#include "lane_kernels.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace mk::test {
namespace {

using emulator::completion;
using emulator::statistics;
using emulator::used_site;
using word = std::uint32_t;
using word_list = std::vector<word>;

// --- kernels: none of them needs more than it has

/// Waits for a phase of a barrier.
void wait(mbarrier* b, unsigned parity, site at = site::here()) {
  while (!try_wait(b, parity, at)) {
  }
}

word* shared_words() { return reinterpret_cast<word*>(shared_memory()); }
mbarrier* barriers_behind(unsigned words) { return reinterpret_cast<mbarrier*>(shared_words() + words); }

constexpr unsigned piece = 64, pieces = 8; ///< words of a piece, and pieces
constexpr unsigned all_words = piece * pieces;

/// A warp loads pieces into a ring of three slots; two others raise them there, and give the slots back.
void ring_of_loads(word const* from, word* to) {
  constexpr unsigned slots = 3;
  auto* const full = barriers_behind(slots * piece);
  auto* const empty = full + slots;
  auto const thread = thread_rank();
  if (thread == 0) {
    for (unsigned i = 0; i < slots; ++i) {
      init(full + i, 1);
      init(empty + i, piece);
    }
    publish_barriers();
  }
  sync_cta();
  for (unsigned i = 0; i < pieces; ++i) {
    auto const slot = i % slots, lap = i / slots & 1;
    auto* const words = shared_words() + slot * piece;
    if (thread == 0) {
      wait(empty + slot, lap ^ 1);
      arrive_expecting(full + slot, piece * 4);
      bulk_load(words, from + i * piece, piece * 4, full + slot);
    } else if (thread >= 32) {
      auto const mine = thread - 32;
      wait(full + slot, lap);
      words[mine] += 1;
      to[i * piece + mine] = words[mine];
      fence_async_proxy();
      arrive(empty + slot);
    }
  }
}

/// The same ring, filled by the threads of a warp; their pieces are read backwards.
void ring_of_threads(word const* from, word* to) {
  constexpr unsigned slots = 2;
  auto* const full = barriers_behind(slots * 32);
  auto* const empty = full + slots;
  auto const thread = thread_rank();
  if (thread == 0)
    for (unsigned i = 0; i < slots; ++i) {
      init(full + i, 32);
      init(empty + i, 32);
    }
  sync_cta();
  for (unsigned i = 0; i < all_words / 32; ++i) {
    auto const slot = i % slots, lap = i / slots & 1;
    auto* const words = shared_words() + slot * 32;
    if (thread < 32) {
      wait(empty + slot, lap ^ 1);
      words[thread] = from[i * 32 + thread] + 1;
      arrive(full + slot);
    } else {
      wait(full + slot, lap);
      to[i * 32 + thread - 32] = words[63 - thread];
      arrive(empty + slot);
    }
  }
}

/// The same with named barriers and one slot.
void named_barriers(word const* from, word* to) {
  constexpr unsigned full = 1, empty = 2, both = 64, count = all_words / 32;
  auto const thread = thread_rank();
  for (unsigned i = 0; i < count; ++i)
    if (thread < 32) {
      if (i > 0) sync_named(empty, both);
      shared_words()[thread] = from[i * 32 + thread] + 1;
      arrive_named(full, both);
    } else {
      sync_named(full, both);
      to[i * 32 + thread - 32] = shared_words()[63 - thread];
      if (i + 1 < count) arrive_named(empty, both);
    }
}

void barriers_of_a_warp(word const* from, word* to) {
  for (auto i = lane_rank(); i < all_words; i += 32) {
    shared_words()[lane_rank()] = from[i] + 1;
    sync_warp();
    to[i] = shared_words()[31 - lane_rank()];
    sync_warp();
  }
}

/// Stores pieces from two slots; then other threads read what was stored.
void stores_from_two_slots(word const* from, word* to) {
  auto const thread = thread_rank();
  auto* const stored = to + all_words;
  for (unsigned i = 0; i < pieces; ++i) {
    auto* const words = shared_words() + i % 2 * piece;
    if (thread == 0) await_bulk_stores_read<1>();
    sync_cta();
    words[thread] = from[i * piece + thread] + 1;
    fence_async_proxy();
    sync_cta();
    if (thread == 0) {
      bulk_store(stored + i * piece, words, piece * 4);
      commit_bulk_stores();
    }
  }
  if (thread == 0) await_bulk_stores<0>();
  sync_cta();
  for (auto i = thread; i < all_words; i += piece) to[i] = stored[all_words - 1 - i];
}

/// A piece is under way while the one before it is read.
void groups_of_copies(word const* from, word* to) {
  auto const thread = thread_rank();
  auto const start = [&](unsigned i) {
    copy_async<4>(shared_words() + i % 2 * piece + thread, from + i * piece + thread);
  };
  start(0);
  commit_copies();
  for (unsigned i = 0; i < pieces; ++i) {
    if (i + 1 < pieces) start(i + 1);
    commit_copies();
    await_copies<1>();
    sync_cta();
    to[i * piece + thread] = shared_words()[i % 2 * piece + piece - 1 - thread] + 1;
    sync_cta();
  }
}

/// What small copies wrote is stored by the copy engine.
void copies_to_stores(word const* from, word* to) {
  auto const thread = thread_rank();
  copy_async<16>(shared_words() + thread * 4, from + thread * 4);
  commit_copies();
  await_copies<0>();
  fence_async_proxy();
  sync_cta();
  if (thread != 0) return;
  bulk_store(to, shared_words(), all_words * 4);
  commit_bulk_stores();
  await_bulk_stores_read<0>();
}

/// A pair of CTAs writes into each other's shared memory.
void peers(word const* from, word* to) {
  constexpr unsigned rounds = all_words / 64;
  auto* const full = barriers_behind(32);
  auto const thread = thread_rank(), rank = cluster_rank();
  if (thread == 0) init(full, 32);
  sync_cluster();
  for (unsigned i = 0; i < rounds; ++i) {
    auto const at = (i * 2 + rank) * 32;
    *peer_address(shared_words() + thread, rank ^ 1) = from[at + thread] + 1;
    arrive_at_peer(full, rank ^ 1);
    wait(full, i & 1);
    to[at + thread] = shared_words()[31 - thread];
    sync_cluster();
  }
}

/// A pair of CTAs reads each other's shared memory.
void reads_of_a_peer(word const* from, word* to) {
  auto const thread = thread_rank(), rank = cluster_rank();
  shared_words()[thread] = from[rank * 32 + thread] + 1;
  sync_cluster();
  to[rank * 32 + thread] = *peer_address(shared_words() + 31 - thread, rank ^ 1);
  sync_cluster();
}

/// One CTA loads pieces into a slot of both, and is told by both when they have read it.
void multicasts_to_one_slot(word const* from, word* to) {
  auto* const full = barriers_behind(piece);
  auto* const empty = full + 1;
  auto const thread = thread_rank(), rank = cluster_rank();
  if (thread == 0) {
    init(full, 1);
    init(empty, 2 * piece);
    publish_barriers();
  }
  sync_cluster();
  for (unsigned i = 0; i < pieces; ++i) {
    if (thread == 0) arrive_expecting(full, piece * 4);
    if (thread == 0 && rank == 0) {
      wait(empty, (i & 1) ^ 1);
      bulk_load_multicast(shared_words(), from + i * piece, piece * 4, full, 3);
    }
    wait(full, i & 1);
    if (i % 2 == rank) to[i * piece + thread] = shared_words()[piece - 1 - thread] + 1;
    arrive_at_peer(empty, 0);
  }
  sync_cluster();
}

/// Threads tell by an mbarrier of what they copied.
void copies_and_arrivals(word const* from, word* to) {
  auto* const full = barriers_behind(piece);
  auto const thread = thread_rank();
  if (thread == 0) init(full, piece);
  sync_cta();
  for (unsigned i = 0; i < pieces; ++i) {
    copy_async<4>(shared_words() + thread, from + i * piece + thread);
    commit_copies();
    await_copies<0>();
    arrive(full);
    wait(full, i & 1);
    to[i * piece + thread] = shared_words()[piece - 1 - thread] + 1;
    sync_cta();
  }
}

/// CTA 0 stores what CTA 1 then loads.
void stores_to_loads(word const* from, word* stored, word* flag, word* to) {
  auto const thread = thread_rank();
  if (cta_rank() == 0) {
    shared_words()[thread] = from[thread] + 1;
    fence_async_proxy();
    sync_cta();
    if (thread != 0) return;
    bulk_store(stored, shared_words(), piece * 4);
    commit_bulk_stores();
    await_bulk_stores<0>();
    store_release(flag, word(1));
    return;
  }
  auto* const done = barriers_behind(piece);
  if (thread == 0) {
    init(done, 1);
    publish_barriers();
    while (load_acquire(flag) == 0) {
    }
    arrive_expecting(done, piece * 4);
    bulk_load(shared_words(), stored, piece * 4, done);
  }
  sync_cta();
  wait(done, 0);
  to[thread] = shared_words()[thread];
}

/// Each CTA adds up a part, and the last one all parts.
void the_last_adds_up(word const* from, word* parts, word* counter, word* to) {
  auto const thread = thread_rank(), here = cta_rank() * piece;
  parts[here + thread] = from[here + thread] + from[here + (thread ^ 1)];
  sync_cta();
  if (thread == 0) {
    auto const before = add_acquire_release(counter, word(1));
    shared_words()[0] = before;
  }
  sync_cta();
  if (shared_words()[0] != cta_count() - 1) return;
  word sum = 0;
  for (unsigned c = 0; c < cta_count(); ++c) sum += parts[c * piece + piece - 1 - thread];
  to[thread] = sum;
}

void a_lock(word const* from, word* lock, word* to) {
  if (thread_rank() != 0) return;
  while (!exchange_if(lock, word(0), word(1))) {
  }
  to[0] = to[0] * 2 + from[0];
  store_release(lock, word(0));
}

/// Each CTA takes the words of the one before it, by way of a flag; one word in two is told of to the system.
void a_chain(word const* from, word* flags, word* to) {
  auto const thread = thread_rank(), rank = cta_rank();
  if (rank == 0) {
    to[thread] = from[thread];
  } else {
    if (thread == 0 && rank % 2 == 1)
      while (load_acquire(flags + rank) == 0) {
      }
    if (thread == 0 && rank % 2 == 0)
      while (load_acquire_system(flags + rank) == 0) {
      }
    sync_cta();
    to[rank * piece + thread] = to[rank * piece - 1 - thread] + 1;
  }
  sync_cta();
  if (thread != 0 || rank + 1 == cta_count()) return;
  if (rank % 2 == 0)
    store_release(flags + rank + 1, word(1));
  else
    store_release_system(flags + rank + 1, word(1));
}

/// All CTAs meet at a counter.
void a_counter(word const* from, word* counter, word* parts, word* to) {
  auto const thread = thread_rank(), rank = cta_rank(), count = cta_count();
  for (unsigned round = 1; round <= 3; ++round) {
    parts[rank * piece + thread] = from[rank * piece + thread] + round;
    sync_cta();
    if (thread == 0) {
      add_release(counter, word(1));
      while (load_acquire(counter) < (2 * round - 1) * count) {
      }
    }
    sync_cta();
    to[rank * piece + thread] = parts[(rank + 1) % count * piece + piece - 1 - thread];
    sync_cta();
    if (thread == 0) {
      add_release(counter, word(1));
      while (load_acquire(counter) < 2 * round * count) {
      }
    }
    sync_cta();
  }
}

constexpr unsigned tile_bytes = 128 * 16; ///< 16 rows of 64 bf16

/// CTA 0 makes a tensor map, and CTA 1 loads a box of it.
void a_map_of_another_cta(tensor_map const* from, tensor_map* map, word* flag, word* to) {
  auto const thread = thread_rank();
  if (cta_rank() == 0) {
    if (thread == 0) {
      *map = *from;
      store_release(flag, word(1));
    }
    return;
  }
  auto* const done = barriers_behind(tile_bytes / 4);
  if (thread == 0) {
    init(done, 1);
    publish_barriers();
    while (load_acquire(flag) == 0) {
    }
    acquire_tensor_map(map);
    arrive_expecting(done, tile_bytes);
    tensor_load(shared_words(), map, {0, 0}, done);
  }
  sync_cta();
  wait(done, 0);
  for (auto i = thread; i < tile_bytes / 4; i += 32) to[i] = shared_words()[i];
}

constexpr unsigned factor_rows = 8, factor_bytes = factor_rows * 128, products = 5;

/// A warp loads the second factors of products into two slots; a warpgroup has one product under way while it waits
/// for the one before.
void products_from_a_ring(std::byte const* a, std::byte const* b, float* to) {
  auto* const a_tile = shared_memory();
  auto* const slots = a_tile + group_tile_bytes;
  auto* const full = reinterpret_cast<mbarrier*>(slots + 2 * factor_bytes);
  auto* const empty = full + 2;
  auto* const a_full = full + 4;
  auto const thread = thread_rank();
  if (thread == 0) {
    for (unsigned i = 0; i < 2; ++i) {
      init(full + i, 1);
      init(empty + i, warpgroup_size);
    }
    init(a_full, 1);
    publish_barriers();
  }
  sync_cta();
  if (thread >= warpgroup_size) {
    if (thread != warpgroup_size) return;
    arrive_expecting(a_full, group_tile_bytes);
    bulk_load(a_tile, a, group_tile_bytes, a_full);
    for (unsigned i = 0; i < products; ++i) {
      wait(empty + i % 2, (i / 2 & 1) ^ 1);
      arrive_expecting(full + i % 2, factor_bytes);
      bulk_load(slots + i % 2 * factor_bytes, b + i * factor_bytes, factor_bytes, full + i % 2);
    }
    return;
  }
  accumulator<factor_rows> sums;
  for (auto& v : sums.values) v = 0;
  wait(a_full, 0);
  for (unsigned i = 0; i < products; ++i) {
    wait(full + i % 2, i / 2 & 1);
    fence_products();
    for (unsigned k = 0; k < group_depth; k += product_depth)
      multiply(sums, factor_of(a_tile, k), factor_of(slots + i % 2 * factor_bytes, k), true);
    commit_products();
    await_products<1>(sums);
    if (i > 0) arrive(empty + (i - 1) % 2);
  }
  await_products<0>(sums);
  for (unsigned i = 0; i < factor_rows / 2; ++i)
    to[accumulator_row(thread, i) * factor_rows + accumulator_column(thread, i)] = sums.values[i];
}

/// Factors that threads write, again and again.
void products_of_written_factors(bf16 const* a, bf16 const* b, float* to) {
  auto* const a_tile = shared_memory();
  auto* const b_tile = a_tile + group_tile_bytes;
  accumulator<factor_rows> sums;
  for (auto& v : sums.values) v = 0;
  for (unsigned i = 0; i < 2; ++i) {
    fill_tile(a_tile, a, 64);
    fill_tile(b_tile, b + i * factor_rows * group_depth, factor_rows);
    fence_async_proxy();
    sync_cta();
    fence_products();
    for (unsigned k = 0; k < group_depth; k += product_depth)
      multiply(sums, factor_of(a_tile, k), factor_of(b_tile, k), true);
    commit_products();
    await_products<0>(sums);
    sync_cta();
  }
  for (unsigned i = 0; i < factor_rows / 2; ++i)
    to[accumulator_row(thread_rank(), i) * factor_rows + accumulator_column(thread_rank(), i)] = sums.values[i];
}

// --- their runs: whether the results are right

template <class T> std::vector<T> contents_of(array<T> const& a) { return {a.span().begin(), a.span().end()}; }
template <class T> std::span<T const> as_span(std::vector<T> const& values) { return values; }

word_list const& some_words() {
  static auto const words = any_bits<word>(all_words, 17);
  return words;
}

/// Each word plus one, and the words of each `part` backwards.
word_list raised_backwards(unsigned part) {
  word_list result(all_words);
  for (unsigned i = 0; i < all_words; ++i) result[i] = some_words()[i / part * part + part - 1 - i % part] + 1;
  return result;
}
word_list raised() { return raised_backwards(1); }

/// A kernel that makes words of `some_words`; the first of them are looked at.
using word_kernel = void (*)(word const*, word*);
template <word_kernel Kernel> bool makes(grid const& g, options const& how, word_list const& expected) {
  array<word> const from(as_span(some_words())), to(2 * all_words);
  launch(g, how, [from = from.data(), to = to.data()] { Kernel(from, to); });
  return std::equal(expected.begin(), expected.end(), to.data());
}

bool run_ring_of_loads(options const& how) {
  return makes<ring_of_loads>({.threads = 96, .shared_bytes = 1024}, how, raised());
}
bool run_ring_of_threads(options const& how) {
  return makes<ring_of_threads>({.threads = 64, .shared_bytes = 1024}, how, raised_backwards(32));
}
bool run_named_barriers(options const& how) {
  return makes<named_barriers>({.threads = 64, .shared_bytes = 128}, how, raised_backwards(32));
}
bool run_barriers_of_a_warp(options const& how) {
  return makes<barriers_of_a_warp>({.threads = 32, .shared_bytes = 128}, how, raised_backwards(32));
}
bool run_stores_from_two_slots(options const& how) {
  return makes<stores_from_two_slots>({.threads = piece, .shared_bytes = 2 * piece * 4}, how,
                                      raised_backwards(all_words));
}
bool run_groups_of_copies(options const& how) {
  return makes<groups_of_copies>({.threads = piece, .shared_bytes = 2 * piece * 4}, how, raised_backwards(piece));
}
bool run_copies_to_stores(options const& how) {
  return makes<copies_to_stores>({.threads = all_words / 4, .shared_bytes = all_words * 4}, how, some_words());
}

constexpr grid pair_of_ctas{.ctas = 2, .threads = 32, .shared_bytes = 256, .cluster = 2};

bool run_peers(options const& how) {
  word_list expected(all_words);
  for (unsigned i = 0; i < all_words; ++i) expected[i] = some_words()[(i / 32 ^ 1) * 32 + 31 - i % 32] + 1;
  return makes<peers>(pair_of_ctas, how, expected);
}

bool run_reads_of_a_peer(options const& how) {
  word_list expected(64);
  for (unsigned i = 0; i < 64; ++i) expected[i] = some_words()[63 - i] + 1;
  return makes<reads_of_a_peer>(pair_of_ctas, how, expected);
}
bool run_multicasts_to_one_slot(options const& how) {
  return makes<multicasts_to_one_slot>({.ctas = 2, .threads = piece, .shared_bytes = piece * 4 + 16, .cluster = 2}, how,
                                       raised_backwards(piece));
}
bool run_copies_and_arrivals(options const& how) {
  return makes<copies_and_arrivals>({.threads = piece, .shared_bytes = piece * 4 + 8}, how, raised_backwards(piece));
}

bool run_stores_to_loads(options const& how) {
  array<word> const from(as_span(some_words())), stored(piece), flag(1, contents::zero), to(piece);
  launch({.ctas = 2, .threads = piece, .shared_bytes = piece * 4 + 8}, how,
         [from = from.data(), stored = stored.data(), flag = flag.data(), to = to.data()] {
           stores_to_loads(from, stored, flag, to);
         });
  word_list const expected = raised();
  return std::equal(to.span().begin(), to.span().end(), expected.begin());
}

constexpr grid few_ctas{.ctas = 4, .threads = piece, .shared_bytes = 16};

bool run_the_last_adds_up(options const& how) {
  array<word> const from(as_span(some_words())), parts(all_words), counter(1, contents::zero), to(piece);
  launch(few_ctas, how, [from = from.data(), parts = parts.data(), counter = counter.data(), to = to.data()] {
    the_last_adds_up(from, parts, counter, to);
  });
  word_list expected(piece);
  for (unsigned i = 0; i < few_ctas.ctas * piece; ++i)
    expected[piece - 1 - i % piece] += some_words()[i] + some_words()[i ^ 1];
  return contents_of(to) == expected;
}

bool run_a_lock(options const& how) {
  array<word> const from(as_span(some_words())), lock(1, contents::zero), to(1, contents::zero);
  launch(few_ctas, how, [from = from.data(), lock = lock.data(), to = to.data()] { a_lock(from, lock, to); });
  return to[0] == 15 * some_words()[0];
}

bool run_a_chain(options const& how) {
  array<word> const from(as_span(some_words())), flags(few_ctas.ctas, contents::zero), to(few_ctas.ctas * piece);
  launch(few_ctas, how, [from = from.data(), flags = flags.data(), to = to.data()] { a_chain(from, flags, to); });
  word_list expected(some_words().begin(), some_words().begin() + piece);
  for (unsigned i = piece; i < few_ctas.ctas * piece; ++i)
    expected.push_back(expected[(i / piece * 2 - 1) * piece - 1 - i + piece] + 1);
  return contents_of(to) == expected;
}

bool run_a_counter(options const& how) {
  constexpr unsigned count = few_ctas.ctas * piece;
  array<word> const from(as_span(some_words())), counter(1, contents::zero), parts(count), to(count);
  launch(few_ctas, how, [from = from.data(), counter = counter.data(), parts = parts.data(), to = to.data()] {
    a_counter(from, counter, parts, to);
  });
  word_list expected(count);
  for (unsigned i = 0; i < count; ++i)
    expected[i] = some_words()[(i / piece + 1) % few_ctas.ctas * piece + piece - 1 - i % piece] + 3;
  return contents_of(to) == expected;
}

bool run_a_map_of_another_cta(options const& how) {
  array<word> const tensor(as_span(some_words())), flag(1, contents::zero), to(tile_bytes / 4);
  array<tensor_map> const from(1), map(1);
  from[0] = emulator::encode_tensor_map({.element_bytes = 2,
                                         .rank = 2,
                                         .address = tensor.data(),
                                         .extents = {64, 16},
                                         .strides = {128},
                                         .box = {64, 16},
                                         .swizzle = emulator::tensor_swizzle::none});
  emulator::mark_written(from.data(), sizeof(tensor_map));
  launch({.ctas = 2, .threads = 32, .shared_bytes = tile_bytes + 8}, how,
         [from = from.data(), map = map.data(), flag = flag.data(), to = to.data()] {
           a_map_of_another_cta(from, map, flag, to);
         });
  return contents_of(to) == some_words();
}

/// A tile as `factor_of` has it.
std::vector<std::byte> swizzled_tile(std::vector<bf16> const& dense) {
  std::vector<std::byte> tile(dense.size() * 2);
  for (std::size_t i = 0; i < dense.size(); ++i)
    std::memcpy(tile.data() + emulator::swizzled(i * 2, emulator::tensor_swizzle::bytes_128), &dense[i], 2);
  return tile;
}

/// A first factor, and second ones of so many products whose sums are added up.
struct factors {
  explicit factors(unsigned count)
      : a(whole_numbers<bf16>(64 * group_depth, 8, 1)),
        b(whole_numbers<bf16>(std::size_t(count) * factor_rows * group_depth, 8, 2)), sums(64 * factor_rows) {
    for (auto i = b.begin(); i != b.end(); i += factor_rows * group_depth)
      sums = product_of(a, {i, i + factor_rows * group_depth}, sums, factor_rows, group_depth, group_depth);
  }
  std::vector<bf16> a, b;
  std::vector<float> sums;
};

bool run_products_from_a_ring(options const& how) {
  static factors const f(products);
  array<std::byte> const a(as_span(swizzled_tile(f.a))), b(as_span(swizzled_tile(f.b)));
  array<float> const to(f.sums.size());
  launch({.threads = warpgroup_size + 32, .shared_bytes = group_tile_bytes + 2 * factor_bytes + 40}, how,
         [a = a.data(), b = b.data(), to = to.data()] { products_from_a_ring(a, b, to); });
  return contents_of(to) == f.sums;
}

bool run_products_of_written_factors(options const& how) {
  static factors const f(2);
  array<bf16> const a(as_span(f.a)), b(as_span(f.b));
  array<float> const to(f.sums.size());
  launch({.threads = warpgroup_size, .shared_bytes = group_tile_bytes + factor_bytes}, how,
         [a = a.data(), b = b.data(), to = to.data()] { products_of_written_factors(a, b, to); });
  return contents_of(to) == f.sums;
}

// --- the kernels that a GPU runs too

bool run_warp_product(options const& how) {
  static auto const a = whole_numbers<bf16>(most_rows * most_depth, 8, 3);
  static auto const b = whole_numbers<bf16>(most_columns * most_depth, 8, 4);
  std::vector<float> const none(most_rows * most_columns);
  array<bf16> const a_there(as_span(a)), b_there(as_span(b));
  array<float> const sums(as_span(none));
  warp_product_arguments const g{reinterpret_cast<std::uint16_t const*>(a_there.data()),
                                 reinterpret_cast<std::uint16_t const*>(b_there.data()),
                                 sums.data(),
                                 most_rows,
                                 most_columns,
                                 most_depth,
                                 most_depth};
  launch({.shared_bytes = warp_product_shared}, how, [g] { warp_product<bf16>(g); });
  return contents_of(sums) == product_of(a, b, none, most_columns, most_depth, most_depth);
}

bool run_move_matrices(options const& how) {
  auto const from = any_bits<std::uint16_t>(4 * 64, 5);
  array<std::uint16_t> const from_there(as_span(from)), to(from.size());
  array<word> const registers(4 * 32);
  matrices_arguments const g{from_there.data(), to.data(), registers.data()};
  launch({.shared_bytes = matrices_shared}, how, [g] { move_matrices<4, false, true>(g); });
  return contents_of(to) == transposed_matrices(from);
}

bool run_round_trip(options const& how) {
  array<word> const from(as_span(some_words())), to(all_words);
  round_trip_arguments const g{from.data(), to.data(), pieces, piece};
  launch({.threads = round_trip_threads, .shared_bytes = round_trip_shared(piece)}, how, [g] { round_trip(g); });
  return contents_of(to) == raised();
}

bool run_multicast(options const& how) {
  array<word> const from(as_span(some_words())), to(2 * all_words);
  multicast_arguments const g{from.data(), to.data(), all_words / 2};
  launch({.ctas = 2, .threads = multicast_threads, .shared_bytes = multicast_shared(all_words / 2), .cluster = 2}, how,
         [g] { multicast(g); });
  auto expected = some_words();
  expected.insert(expected.end(), some_words().begin(), some_words().end());
  return contents_of(to) == expected;
}

bool run_group_product(options const& how) {
  static factors const f(1);
  array<bf16> const a(as_span(f.a)), b(as_span(f.b));
  array<float> const sums(f.sums.size());
  group_product_arguments const g{a.data(), b.data(), sums.data(), false};
  launch({.threads = warpgroup_size, .shared_bytes = group_product_shared}, how,
         [g] { group_product<factor_rows>(g); });
  return contents_of(sums) == f.sums;
}

bool run_placed_product(options const& how) {
  static auto const a = whole_numbers<bf16>(64 * 16, 8, 6), b = whole_numbers<bf16>(8 * 16, 8, 7);
  array<bf16> const a_there(as_span(a)), b_there(as_span(b));
  array<float> const sums(64 * 8);
  placed_product_arguments const g{a_there.data(), b_there.data(), sums.data(), placements[2]};
  launch({.threads = warpgroup_size, .shared_bytes = placed_product_shared}, how, [g] { placed_product<8>(g); });
  return contents_of(sums) == product_of(a, b, std::vector<float>(64 * 8), 8, 16, 16);
}

// --- what goes unnoticed

/// A site that is not needed.
struct unneeded_site {
  char const* code; ///< from the site's line on
  char const* reason;
};

struct small_kernel {
  char const* name;
  bool (*is_right)(options const&);
  std::vector<unneeded_site> may_go_unnoticed{};
};

small_kernel const kernels[] = {
    {"ring_of_loads", run_ring_of_loads},
    {"ring_of_threads", run_ring_of_threads},
    {"named_barriers", run_named_barriers},
    {"barriers_of_a_warp", run_barriers_of_a_warp},
    {"stores_from_two_slots", run_stores_from_two_slots},
    {"groups_of_copies", run_groups_of_copies},
    {"copies_to_stores", run_copies_to_stores},
    {"peers", run_peers},
    {"reads_of_a_peer", run_reads_of_a_peer},
    {"multicasts_to_one_slot", run_multicasts_to_one_slot},
    {"copies_and_arrivals", run_copies_and_arrivals},
    {"stores_to_loads", run_stores_to_loads},
    {"the_last_adds_up", run_the_last_adds_up},
    {"a_lock", run_a_lock},
    {"a_chain", run_a_chain},
    {"a_counter", run_a_counter},
    {"a_map_of_another_cta", run_a_map_of_another_cta},
    {"products_from_a_ring", run_products_from_a_ring},
    {"products_of_written_factors", run_products_of_written_factors},
    {"warp_product", run_warp_product},
    {"move_matrices", run_move_matrices},
    {"round_trip", run_round_trip},
    {"multicast",
     run_multicast,
     {{"tylo::sync_cluster();\n}",
       "each CTA has waited for all that comes to its memory, and reaches for no other's"}}},
    {"group_product", run_group_product},
    {"placed_product", run_placed_product},
};

std::vector<used_site> sites_of(small_kernel const& k) {
  std::vector<used_site> sites;
  options how{.list_sites = true};
  how.on_end = [&](statistics const& all) { sites = all.sites; };
  EXPECT_TRUE(k.is_right(how));
  return sites;
}

/// The source from the line of a site on.
std::string code_at(used_site const& s) {
  std::ifstream file(s.file);
  std::string line;
  for (int i = 1; i < s.line; ++i) std::getline(file, line);
  file >> std::ws;
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_listed(small_kernel const& k, used_site const& s) {
  auto const code = code_at(s);
  return std::any_of(k.may_go_unnoticed.begin(), k.may_go_unnoticed.end(),
                     [&](unneeded_site const& u) { return code.starts_with(u.code); });
}

/// Says of a run without a fault whether its results are right.
void expect_right(small_kernel const& k, options const& how) {
  SCOPED_TRACE("seed " + std::to_string(how.seed));
  try {
    EXPECT_TRUE(k.is_right(how)) << "other results";
  } catch (fault const& f) {
    ADD_FAILURE() << f.what();
  }
}

bool goes_well(small_kernel const& k, options const& how) {
  try {
    return k.is_right(how);
  } catch (fault const&) {
    return false;
  }
}

/// Calls `run` with ways to run a kernel until it returns true; whether it did.
template <class Run> bool in_some_schedule(Run run) {
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (auto const when : {completion::late, completion::early, completion::random})
      if (run(options{.seed = seed, .asynchronous = when})) return true;
  return false;
}

bool is_noticed(small_kernel const& k, used_site const& s) {
  return in_some_schedule([&](options how) {
    how.deleted_site = {s.file, s.line};
    return !goes_well(k, how);
  });
}

/// What goes unnoticed is listed, and nothing else is. Returns the number of sites.
std::size_t check_sites(small_kernel const& k) {
  SCOPED_TRACE(std::string(k.name) + ": repeat with: ./mk test -R emulator_primitive_sites");
  in_some_schedule([&](options const& how) {
    expect_right(k, how);
    return testing::Test::HasFailure();
  });
  auto const sites = sites_of(k);
  std::size_t unnoticed = 0;
  for (auto const& s : sites) {
    bool const noticed = is_noticed(k, s);
    if (!noticed) ++unnoticed;
    EXPECT_EQ(noticed, !is_listed(k, s)) << s.kind << " (" << s.what << ") at " << s.file << ":" << s.line;
  }
  EXPECT_EQ(unnoticed, k.may_go_unnoticed.size());
  return sites.size();
}

TEST(emulator_primitive_sites, nothing_that_orders_can_be_left_out_unnoticed) {
  std::size_t count = 0;
  for (auto const& k : kernels) count += check_sites(k);
  std::printf("%zu sites of %zu kernels\n", count, std::size(kernels));
}

TEST(emulator_primitive_sites, all_that_can_be_left_out_are_in_some_kernel) {
  std::set<std::string> found;
  for (auto const& k : kernels)
    for (auto const& s : sites_of(k)) found.insert(s.what);
  std::string names;
  for (auto const& name : found) names += name + " ";
  EXPECT_EQ(names,
            "acquire_tensor_map add arrive arrive_expecting arrive_named await_bulk_stores await_bulk_stores_read "
            "await_copies await_products commit_bulk_stores commit_copies commit_products exchange "
            "fence_async_proxy fence_products load publish_barriers store sync_cluster sync_cta sync_named "
            "sync_warp try_wait ");
}

} // namespace
} // namespace mk::test
