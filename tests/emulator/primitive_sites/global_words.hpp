#pragma once

/// CTAs that tell each other by words of global memory what they have written.

#include <megakernels/tylo/emulator/tensor_map.hpp>
#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/memory.hpp>
#include <megakernels/tylo/lane/tensor_copy.hpp>
#include <megakernels/tylo/lane/thread.hpp>

#include "../kit.hpp"
#include "../lane_kernels.hpp"
#include "words.hpp"

namespace mk::test::primitive_sites {

inline constexpr grid few_ctas{.ctas = 4, .threads = piece, .shared_bytes = 16};

/// Each CTA adds up a part, and the last one all parts.
inline void the_last_adds_up(word const* from, word* parts, word* counter, word* to) {
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

inline bool run_the_last_adds_up(options const& how) {
  array<word> const from(some_words()), parts(all_words), counter(1, contents::zero), to(piece);
  launch(few_ctas, how, [from = from.data(), parts = parts.data(), counter = counter.data(), to = to.data()] {
    the_last_adds_up(from, parts, counter, to);
  });
  word_list expected(piece);
  for (unsigned i = 0; i < few_ctas.ctas * piece; ++i)
    expected[piece - 1 - i % piece] += some_words()[i] + some_words()[i ^ 1];
  return contents_of(to) == expected;
}

inline void a_lock(word const* from, word* lock, word* to) {
  if (thread_rank() != 0) return;
  while (!exchange_if(lock, word(0), word(1))) {
  }
  to[0] = to[0] * 2 + from[0];
  store_release(lock, word(0));
}

inline bool run_a_lock(options const& how) {
  array<word> const from(some_words()), lock(1, contents::zero), to(1, contents::zero);
  launch(few_ctas, how, [from = from.data(), lock = lock.data(), to = to.data()] { a_lock(from, lock, to); });
  return to[0] == 15 * some_words()[0];
}

/// Each CTA takes the words of the one before it, by way of a flag; one word in two is told of to the system.
inline void a_chain(word const* from, word* flags, word* to) {
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

inline bool run_a_chain(options const& how) {
  array<word> const from(some_words()), flags(few_ctas.ctas, contents::zero), to(few_ctas.ctas * piece);
  launch(few_ctas, how, [from = from.data(), flags = flags.data(), to = to.data()] { a_chain(from, flags, to); });
  word_list expected(some_words().begin(), some_words().begin() + piece);
  for (unsigned i = piece; i < few_ctas.ctas * piece; ++i)
    expected.push_back(expected[(i / piece * 2 - 1) * piece - 1 - i + piece] + 1);
  return contents_of(to) == expected;
}

/// All CTAs meet at a counter.
inline void a_counter(word const* from, word* counter, word* parts, word* to) {
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

inline bool run_a_counter(options const& how) {
  constexpr unsigned count = few_ctas.ctas * piece;
  array<word> const from(some_words()), counter(1, contents::zero), parts(count), to(count);
  launch(few_ctas, how, [from = from.data(), counter = counter.data(), parts = parts.data(), to = to.data()] {
    a_counter(from, counter, parts, to);
  });
  word_list expected(count);
  for (unsigned i = 0; i < count; ++i)
    expected[i] = some_words()[(i / piece + 1) % few_ctas.ctas * piece + piece - 1 - i % piece] + 3;
  return contents_of(to) == expected;
}

inline constexpr unsigned tile_bytes = 128 * 16; ///< 16 rows of 64 bf16

/// CTA 0 makes a tensor map, and CTA 1 loads a box of it.
inline void a_map_of_another_cta(tensor_map const* from, tensor_map* map, word* flag, word* to) {
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
  wait_phase(done, 0);
  for (auto i = thread; i < tile_bytes / 4; i += 32) to[i] = shared_words()[i];
}

inline bool run_a_map_of_another_cta(options const& how) {
  array<word> const tensor(some_words()), flag(1, contents::zero), to(tile_bytes / 4);
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

} // namespace mk::test::primitive_sites
