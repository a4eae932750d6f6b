/// Products of a warpgroup: their sums, and the order of calls that they need.

#include <megakernels/tylo/emulator/lane.hpp>

#include "kit.hpp"
#include "lane_data.hpp"
#include "lane_kernels.hpp"

#include <cmath>

namespace mk::test {
namespace {

template <unsigned N> void check_product(std::uint64_t seed, bool accumulate) {
  auto const a = whole_numbers<bf16>(64 * group_depth, 64, seed),
             b = whole_numbers<bf16>(N * group_depth, 64, seed + 50);
  std::vector<float> initial(64 * N);
  for (std::size_t i = 0; i < initial.size(); ++i) initial[i] = static_cast<float>(i * 37 % 2001) - 1000;
  for (options how; how.seed < 9; ++how.seed) {
    array<bf16> const a_there(a), b_there(b);
    array<float> const sums(initial);
    group_product_arguments const g{a_there.data(), b_there.data(), sums.data(), accumulate};
    auto const counts =
        launch({.threads = 128, .shared_bytes = group_product_shared}, how, [g] { group_product<N>(g); });
    EXPECT_EQ(counts.products, 4u);
    EXPECT_EQ(counts.copies, 0u);
    auto const expected =
        product_of(a, b, accumulate ? initial : std::vector<float>(initial.size()), N, group_depth, group_depth);
    ASSERT_EQ(contents_of(sums), expected) << "seed " << how.seed;
  }
}

TEST(emulator_products, equal_plain_loops) {
  for (bool const accumulate : {false, true}) {
    check_product<8>(1, accumulate);
    check_product<64>(2, accumulate);
  }
}

/// One product of factors that lie in any of the ways.
template <unsigned N, class Kernel> void check_placements(Kernel kernel) {
  auto const a = whole_numbers<bf16>(64 * 16, 200, N), b = whole_numbers<bf16>(N * 16, 200, N + 1);
  array<bf16> const a_there(a), b_there(b);
  for (auto const& where : placements) {
    array<float> const sums(64 * N);
    placed_product_arguments const g{a_there.data(), b_there.data(), sums.data(), where};
    expect_clean({.threads = 128, .shared_bytes = 81920}, [g, kernel] { kernel(g); }, 4);
    EXPECT_EQ(contents_of(sums), product_of(a, b, std::vector<float>(64 * N), N, 16, 16))
        << "mode " << where.swizzle << ", " << where.stride << " bytes between 8 rows";
  }
}

TEST(emulator_products, factors_lie_as_their_descriptors_say) {
  check_placements<8>([](placed_product_arguments const& g) { placed_product<8>(g); });
  check_placements<64>([](placed_product_arguments const& g) { placed_product<64>(g); });
}

/// Sums of any width that the instruction has, which tylo/lane does not offer.
template <unsigned N> void product_of_columns(placed_product_arguments const& g) {
  auto* const a = shared_memory();
  auto* const b = a + placed_product_shared / 2;
  put_factor(a, g.where, g.a, 64);
  put_factor(b, g.where, g.b, N);
  fence_async_proxy();
  sync_cta();
  float sums[N / 2];
  auto const here = site::here();
  emulator::fence_products(here);
  emulator::multiply(sums, N, placed_factor(a, g.where).bits, placed_factor(b, g.where).bits, false, here);
  emulator::commit_products(here);
  emulator::await_products(0, sums, N, here);
  for (unsigned i = 0; i < N / 2; ++i)
    g.sums[accumulator_row(thread_rank(), i) * N + accumulator_column(thread_rank(), i)] = sums[i];
}

TEST(emulator_products, of_any_number_of_columns) {
  check_placements<24>([](placed_product_arguments const& g) { product_of_columns<24>(g); });
  check_placements<104>([](placed_product_arguments const& g) { product_of_columns<104>(g); });
  check_placements<256>([](placed_product_arguments const& g) { product_of_columns<256>(g); });
}

/// Tiles of 64 rows of 64 numbers, all one, in slots of shared memory.
constexpr unsigned slot_bytes = 8192, slots = 3;
constexpr grid one_group{.threads = 128, .shared_bytes = slots * slot_bytes};

std::byte* slot(unsigned i) { return shared_memory() + i * slot_bytes; }

void fill_slots(bool fences = true) {
  if (thread_rank() < 128)
    for (auto i = thread_rank(); i < slots * slot_bytes / 2; i += 128)
      reinterpret_cast<bf16*>(shared_memory())[i] = bf16(1.0f);
  if (fences) fence_async_proxy();
  sync_cta();
}

TEST(emulator_products, more_than_one_under_way) {
  array<float> const out(128);
  expect_clean(one_group, [out = out.data()] {
    fill_slots();
    accumulator<8> first, second;
    for (unsigned i = 0; i < 4; ++i) first.values[i] = second.values[i] = 5.0f;
    fence_products();
    multiply(first, factor_of(slot(0), 0), factor_of(slot(1), 0), true);
    commit_products();
    multiply(second, factor_of(slot(0), 0), factor_of(slot(2), 0), true);
    multiply(second, factor_of(slot(0), 16), factor_of(slot(2), 16), true);
    commit_products();
    await_products<1>(first);
    auto const early = first.values[3];
    await_products<0>(second);
    out[thread_rank()] = early * 1000.0f + second.values[2];
  });
  EXPECT_EQ(contents_of(out), std::vector<float>(128, 21037.0f));
}

TEST(emulator_products, a_pipeline_that_waits_for_all_but_the_last) {
  array<float> const out(128);
  expect_clean(one_group, [out = out.data()] {
    fill_slots();
    accumulator<64> sums;
    for (auto& v : sums.values) v = 0;
    for (unsigned i = 0; i < 6; ++i) {
      fence_products();
      multiply(sums, factor_of(slot(0), i % 4 * 16), factor_of(slot(1 + i % 2), i % 4 * 16), i > 0);
      commit_products();
      await_products<1>(sums);
    }
    await_products<0>(sums);
    out[thread_rank()] = sums.values[31];
  });
  EXPECT_EQ(contents_of(out), std::vector<float>(128, 96.0f));
}

TEST(emulator_products, two_warpgroups_go_their_own_ways) {
  array<float> const out(256);
  expect_clean({.threads = 256, .shared_bytes = slots * slot_bytes}, [out = out.data()] {
    fill_slots();
    accumulator<8> sums;
    for (auto& v : sums.values) v = 0;
    auto const times = 1 + thread_rank() / 128 * 2;
    fence_products();
    for (unsigned i = 0; i < times; ++i) multiply(sums, factor_of(slot(0), 0), factor_of(slot(1), 0), true);
    commit_products();
    await_products<0>(sums);
    out[thread_rank()] = sums.values[0];
  });
  EXPECT_EQ(out[127], 16.0f);
  EXPECT_EQ(out[128], 48.0f);
}

/// Two accumulators by turns: each is fenced, multiplied, awaited and used while the other is under way. The first
/// waits name sums that no product has written yet.
TEST(emulator_products, two_accumulators_by_turns) {
  array<float> const out(128);
  expect_clean(one_group, [out = out.data()] {
    fill_slots();
    accumulator<8> sums[2];
    for (auto& s : sums)
      for (auto& v : s.values) v = 0;
    float total = 0;
    for (unsigned i = 0; i < 6; ++i) {
      fence_products();
      multiply(sums[i % 2], factor_of(slot(0), 0), factor_of(slot(1), 0), true);
      commit_products();
      auto& before = sums[(i + 1) % 2];
      await_products<1>(before);
      total += before.values[1];
      for (auto& v : before.values) v = 1;
    }
    await_products<0>(sums[1]);
    out[thread_rank()] = total + sums[1].values[1];
  });
  EXPECT_EQ(contents_of(out), std::vector<float>(128, 16.0f + 5 * 17.0f));
}

TEST(emulator_products, empty_groups_and_waits_that_have_been) {
  array<float> const out(128);
  expect_clean(one_group, [out = out.data()] {
    fill_slots();
    accumulator<8> first, second;
    for (unsigned i = 0; i < 4; ++i) first.values[i] = second.values[i] = 5.0f;
    fence_products();
    multiply(first, factor_of(slot(0), 0), factor_of(slot(1), 0), true);
    commit_products();
    commit_products();
    await_products<1>(first);
    multiply(second, factor_of(slot(0), 0), factor_of(slot(2), 0), true); // untouched since the fence
    commit_products();
    await_products<1>(first);
    await_products<0>(first);
    out[thread_rank()] = first.values[0];
    await_products<0>(second);
    out[thread_rank()] += second.values[0];
  });
  EXPECT_EQ(contents_of(out), std::vector<float>(128, 42.0f));
}

/// A variable that lies between accumulators, and what else a thread has, may be used all the time.
TEST(emulator_products, other_variables_are_the_programs) {
  array<float> const out(128);
  expect_clean(one_group, [out = out.data()] {
    fill_slots();
    struct {
      accumulator<8> first;
      float volatile between = 0;
      accumulator<8> second;
    } own;
    for (unsigned i = 0; i < 4; ++i) own.first.values[i] = own.second.values[i] = 5.0f;
    fence_products();
    own.between = 1;
    multiply(own.first, factor_of(slot(0), 0), factor_of(slot(1), 0), true);
    own.between = own.between + 1;
    multiply(own.second, factor_of(slot(0), 0), factor_of(slot(2), 0), true);
    own.between = own.between + 1;
    commit_products();
    own.between = own.between + 1;
    await_products<0>(own.second);
    await_products<0>(own.first);
    out[thread_rank()] = own.first.values[0] + own.second.values[3] + own.between;
  });
  EXPECT_EQ(contents_of(out), std::vector<float>(128, 46.0f));
}

// --- faults

using factors = shared_factor;

/// A warpgroup whose factors are there does something wrong.
template <class Body>
void expect_product_fault(fault_kind kind, std::initializer_list<char const*> words, Body body, options how = {}) {
  array<float> const out(128);
  expect_fault(
      kind, words, one_group,
      [body, out = out.data()] {
        fill_slots();
        accumulator<8> sums;
        for (auto& v : sums.values) v = 1;
        body(sums, factor_of(slot(0), 0), factor_of(slot(1), 0), out);
      },
      how);
}

TEST(emulator_product_faults, no_fence_before_the_first) {
  expect_product_fault(fault_kind::products, {"multiply", "fence_products", "products_test.cpp"},
                       [](accumulator<8>& sums, factors a, factors b, float*) {
                         multiply(sums, a, b, true);
                         commit_products();
                         await_products<0>(sums);
                       });
}

TEST(emulator_product_faults, no_fence_after_sums_came_back) {
  expect_product_fault(fault_kind::products, {"multiply", "fence_products", "products_test.cpp"},
                       [](accumulator<8>& sums, factors a, factors b, float*) {
                         fence_products();
                         for (unsigned i = 0; i < 2; ++i) {
                           multiply(sums, a, b, true);
                           commit_products();
                           await_products<0>(sums);
                         }
                       });
}

TEST(emulator_product_faults, sums_are_used_before_they_are_awaited) {
  for (auto const when : {emulator::completion::early, emulator::completion::late}) {
    options how;
    how.asynchronous = when;
    expect_product_fault(
        fault_kind::products, {"sums of a warpgroup product", "await_products", "products_test.cpp"},
        [](accumulator<8>& sums, factors a, factors b, float* out) {
          fence_products();
          multiply(sums, a, b, true);
          commit_products();
          out[thread_rank()] = sums.values[0];
          await_products<0>(sums);
        },
        how);
    expect_product_fault(
        fault_kind::products, {"sums of a warpgroup product", "await_products", "products_test.cpp"},
        [](accumulator<8>& sums, factors a, factors b, float* out) {
          for (unsigned i = 0; i < 2; ++i) {
            fence_products();
            multiply(sums, a, b, true);
            commit_products();
          }
          await_products<1>(sums);
          out[thread_rank()] = sums.values[0];
          await_products<0>(sums);
        },
        how);
  }
}

/// Two accumulators under way, the first in a group ahead of the second's.
template <class Body>
void expect_fault_of_two(fault_kind kind, std::initializer_list<char const*> words, Body body,
                         bool in_one_group = false) {
  for (auto const when : {emulator::completion::early, emulator::completion::late}) {
    options how;
    how.asynchronous = when;
    expect_product_fault(
        kind, words,
        [body, in_one_group](accumulator<8>& first, factors a, factors b, float* out) {
          accumulator<8> second;
          for (auto& v : second.values) v = 1;
          fence_products();
          multiply(first, a, b, true);
          if (!in_one_group) commit_products();
          multiply(second, a, b, true);
          commit_products();
          body(first, second, out + thread_rank());
        },
        how);
  }
}

TEST(emulator_product_faults, one_of_two_is_used_before_it_is_awaited) {
  constexpr auto products = fault_kind::products;
  expect_fault_of_two(products, {"multiply at", "are read before await_products, at", "products_test.cpp"},
                      [](accumulator<8>& first, accumulator<8>& second, float* out) {
                        *out = first.values[0];
                        await_products<1>(first);
                        await_products<0>(second);
                      });
  expect_fault_of_two(products, {"multiply at", "are written before await_products, at", "products_test.cpp"},
                      [](accumulator<8>& first, accumulator<8>& second, float*) {
                        first.values[3] = 7;
                        await_products<1>(first);
                        await_products<0>(second);
                      });
  expect_fault_of_two(products, {"are read before await_products, at", "products_test.cpp"},
                      [](accumulator<8>& first, accumulator<8>& second, float* out) {
                        await_products<1>(first);
                        *out = second.values[0];
                        await_products<0>(second);
                      });
  expect_fault_of_two(
      products,
      {"are read before await_products, at", "for all groups but the last 2, did not wait", "products_test.cpp"},
      [](accumulator<8>& first, accumulator<8>& second, float* out) {
        await_products<2>(first);
        *out = first.values[1];
        await_products<1>(first);
        await_products<0>(second);
      });
  expect_fault_of_two(products, {"are read before await_products, at", "products_test.cpp"},
                      [](accumulator<8>& first, accumulator<8>& second, float* out) {
                        auto const copy = first;
                        await_products<1>(first);
                        await_products<0>(second);
                        *out = copy.values[0];
                      });
}

TEST(emulator_product_faults, sums_that_no_wait_has_named) {
  for (bool const in_one_group : {false, true}) {
    expect_fault_of_two(
        fault_kind::products, {"multiply at", "are read", "no await_products has named them", "products_test.cpp"},
        [](accumulator<8>& first, accumulator<8>& second, float* out) {
          await_products<0>(first);
          *out = second.values[0];
          await_products<0>(second);
        },
        in_one_group);
    expect_fault_of_two(
        fault_kind::exit,
        {"product from multiply at", "were never awaited: no await_products has named them", "products_test.cpp"},
        [](accumulator<8>& first, accumulator<8>&, float*) { await_products<0>(first); }, in_one_group);
  }
}

TEST(emulator_product_faults, sums_that_overlap) {
  expect_product_fault(fault_kind::products, {"its sums overlap those of multiply at", "products_test.cpp"},
                       [](accumulator<8>&, factors a, factors b, float*) {
                         float both[6] = {};
                         fence_products();
                         multiply(*reinterpret_cast<accumulator<8>*>(both), a, b, true);
                         multiply(*reinterpret_cast<accumulator<8>*>(both + 2), a, b, true);
                         commit_products();
                       });
}

TEST(emulator_product_faults, sums_that_are_no_variable_of_the_thread) {
  expect_product_fault(fault_kind::misuse, {"multiply at", "no variable of the thread", "products_test.cpp"},
                       [](accumulator<8>&, factors a, factors b, float*) {
                         auto& sums = reinterpret_cast<accumulator<8>*>(slot(2))[thread_rank()];
                         fence_products();
                         multiply(sums, a, b, true);
                         commit_products();
                         await_products<0>(sums);
                       });
}

TEST(emulator_product_faults, sums_are_written_after_the_fence) {
  constexpr auto products = fault_kind::products;
  expect_product_fault(products, {"multiply at", "since its sums were written at", "the last one was that at"},
                       [](accumulator<8>& sums, factors a, factors b, float*) {
                         fence_products();
                         for (auto& v : sums.values) v = 3;
                         multiply(sums, a, b, true);
                         commit_products();
                         await_products<0>(sums);
                       });
  expect_product_fault(products, {"multiply at", "since its sums were written at", "products_test.cpp"},
                       [](accumulator<8>& sums, factors a, factors b, float*) {
                         accumulator<8> second;
                         fence_products();
                         multiply(sums, a, b, true);
                         commit_products();
                         for (auto& v : second.values) v = 3;
                         multiply(second, a, b, true);
                         commit_products();
                         await_products<1>(sums);
                         await_products<0>(second);
                       });
  // One value of one lane.
  expect_product_fault(products, {"multiply at", "since its sums were written at", "products_test.cpp"},
                       [](accumulator<8>& sums, factors a, factors b, float*) {
                         fence_products();
                         multiply(sums, a, b, true);
                         commit_products();
                         await_products<0>(sums);
                         fence_products();
                         if (thread_rank() == 77) sums.values[3] = 1;
                         multiply(sums, a, b, true);
                         commit_products();
                         await_products<0>(sums);
                       });
}

TEST(emulator_product_faults, what_was_never_committed) {
  expect_product_fault(fault_kind::products, {"await_products", "never committed", "products_test.cpp"},
                       [](accumulator<8>& sums, factors a, factors b, float*) {
                         fence_products();
                         multiply(sums, a, b, true);
                         await_products<0>(sums);
                       });
}

TEST(emulator_product_faults, sums_that_were_moved) {
  expect_product_fault(fault_kind::products, {"await_products", "not those of any product", "products_test.cpp"},
                       [](accumulator<8>& sums, factors a, factors b, float*) {
                         accumulator<8> other;
                         fence_products();
                         multiply(sums, a, b, true);
                         commit_products();
                         await_products<0>(other);
                       });
}

TEST(emulator_product_faults, threads_end_with_products_under_way) {
  for (auto const when : {emulator::completion::early, emulator::completion::late}) {
    options how;
    how.asynchronous = when;
    expect_product_fault(
        fault_kind::exit, {"ends before it has waited for its product from", "products_test.cpp"},
        [](accumulator<8>& sums, factors a, factors b, float*) {
          fence_products();
          multiply(sums, a, b, true);
          commit_products();
        },
        how);
  }
}

TEST(emulator_product_faults, threads_end_behind_an_empty_group) {
  expect_product_fault(fault_kind::exit,
                       {"ends before it has waited for its product from multiply at", "products_test.cpp"},
                       [](accumulator<8>& sums, factors a, factors b, float*) {
                         fence_products();
                         multiply(sums, a, b, true);
                         commit_products();
                         commit_products();
                       });
}

TEST(emulator_product_faults, warps_are_at_different_products) {
  expect_product_fault(fault_kind::divergence, {"warp", "warps 0", "multiply at", "products_test.cpp"},
                       [](accumulator<8>& sums, factors a, factors b, float*) {
                         fence_products();
                         if (thread_rank() / 32 == 2)
                           multiply(sums, a, b, true);
                         else
                           multiply(sums, a, b, true);
                         commit_products();
                         await_products<0>(sums);
                       });
  expect_product_fault(fault_kind::divergence, {"other factors than warps", "products_test.cpp"},
                       [](accumulator<8>& sums, factors a, factors b, float*) {
                         fence_products();
                         multiply(sums, a, thread_rank() / 32 == 1 ? a : b, true);
                         commit_products();
                         await_products<0>(sums);
                       });
  expect_product_fault(fault_kind::divergence, {"lanes of a warp give different factors", "products_test.cpp"},
                       [](accumulator<8>& sums, factors a, factors b, float*) {
                         fence_products();
                         multiply(sums, a, thread_rank() % 32 == 1 ? a : b, true);
                         commit_products();
                         await_products<0>(sums);
                       });
}

TEST(emulator_product_faults, a_warp_does_not_come_to_a_product) {
  for (unsigned missing : {0u, 3u})
    expect_product_fault(fault_kind::divergence, {"warp", "multiply at", "products_test.cpp"},
                         [missing](accumulator<8>& sums, factors a, factors b, float*) {
                           if (thread_rank() / 32 == missing) return;
                           fence_products();
                           multiply(sums, a, b, true);
                           commit_products();
                           await_products<0>(sums);
                         });
}

/// Four warps in a row that are two of one warpgroup and two of the next.
TEST(emulator_product_faults, a_group_that_begins_in_the_middle_of_a_warpgroup) {
  auto const kernel = [](bool others_wait) {
    return [others_wait] {
      fill_slots();
      auto const warp = thread_rank() / 32;
      if (warp >= 2 && warp < 6) {
        accumulator<8> sums;
        for (auto& v : sums.values) v = 0;
        fence_products();
        multiply(sums, factor_of(slot(0), 0), factor_of(slot(1), 0), true);
        commit_products();
        await_products<0>(sums);
      }
      if (others_wait) sync_cta();
    };
  };
  constexpr grid two_groups{.threads = 256, .shared_bytes = slots * slot_bytes};
  expect_fault(fault_kind::divergence,
               {"ends and never came to multiply at", "A warpgroup is four warps", "a multiple of four",
                "of warpgroup 0 warps 2, 3, of warpgroup 1 warps 4, 5 came", "products_test.cpp"},
               two_groups, kernel(true));
  expect_fault(fault_kind::divergence, {"multiply at", "A warpgroup is four warps", "products_test.cpp"}, two_groups,
               kernel(false));
}

TEST(emulator_product_faults, fewer_than_four_warps) {
  expect_fault(fault_kind::misuse, {"a warpgroup has four warps", "products_test.cpp"}, {.threads = 96},
               [] { fence_products(); });
}

TEST(emulator_product_faults, factors_without_a_proxy_fence) {
  expect_fault(fault_kind::proxy, {"a read of 32 bytes by multiply from", "fence_async_proxy", "products_test.cpp"},
               one_group, [] {
                 fill_slots(false);
                 accumulator<8> sums;
                 for (auto& v : sums.values) v = 0;
                 fence_products();
                 multiply(sums, factor_of(slot(0), 0), factor_of(slot(1), 0), true);
                 commit_products();
                 await_products<0>(sums);
               });
}

TEST(emulator_product_faults, a_factor_is_overwritten_too_early) {
  for (auto const when : {emulator::completion::early, emulator::completion::late}) {
    options how;
    how.asynchronous = when;
    expect_product_fault(
        fault_kind::in_flight, {"read by multiply from", "products_test.cpp"},
        [](accumulator<8>& sums, factors a, factors b, float*) {
          fence_products();
          multiply(sums, a, b, true);
          commit_products();
          reinterpret_cast<bf16*>(slot(1))[thread_rank() / 16 * 64 + thread_rank() % 16] = bf16(0.0f);
          await_products<0>(sums);
        },
        how);
  }
}

/// A warp waits for its own part of a product alone.
TEST(emulator_product_faults, a_factor_is_overwritten_while_another_warp_may_read_it) {
  auto const kernel = [](bool meets) {
    return [meets] {
      fill_slots();
      accumulator<8> sums;
      for (auto& v : sums.values) v = 0;
      fence_products();
      multiply(sums, factor_of(slot(0), 0), factor_of(slot(1), 0), true);
      commit_products();
      await_products<0>(sums);
      if (meets) sync_cta();
      if (thread_rank() == 0) *reinterpret_cast<bf16*>(slot(1)) = bf16(0.0f);
    };
  };
  expect_clean(one_group, kernel(true));
  expect_fault(fault_kind::in_flight, {"multiply from", "products_test.cpp"}, one_group, kernel(false));
}

TEST(emulator_product_faults, descriptors) {
  auto const fails = [](std::initializer_list<char const*> words, auto change) {
    expect_product_fault(fault_kind::descriptor, words, [change](accumulator<8>& sums, factors a, factors b, float*) {
      fence_products();
      multiply(sums, a, {change(b.bits)}, true);
      commit_products();
      await_products<0>(sums);
    });
  };
  fails({"factor b", "reserved", "products_test.cpp"}, [](std::uint64_t bits) { return bits | 1u << 14; });
  fails({"factor b", "reserved", "products_test.cpp"},
        [](std::uint64_t bits) { return bits | std::uint64_t(1) << 46; });
  fails({"factor b", "base offset", "products_test.cpp"},
        [](std::uint64_t bits) { return bits | std::uint64_t(1) << 49; });
  fails({"row 0 of factor b", "outside of the 24576 bytes", "products_test.cpp"},
        [](std::uint64_t bits) { return bits & ~std::uint64_t(0x3FFF); });
  fails({"of factor b", "outside of the 24576 bytes", "products_test.cpp"},
        [](std::uint64_t bits) { return (bits & ~std::uint64_t(0x3FFF)) | (1024 + slots * slot_bytes) >> 4; });
}

TEST(emulator_product_faults, factors_that_are_no_columns_of_a_tile) {
  auto const fails = [](std::initializer_list<char const*> words, unsigned byte, unsigned column) {
    expect_fault(fault_kind::descriptor, words, one_group, [byte, column] { (void)factor_of(slot(0) + byte, column); });
  };
  fails({"factor_of at", "the tile is at byte 128 of shared memory", "multiple of 1024", "products_test.cpp"}, 128, 0);
  fails({"factor_of at", "column 64", "multiple of 16 below 64", "products_test.cpp"}, 0, 64);
  fails({"factor_of at", "column 8,", "products_test.cpp"}, 0, 8);
  expect_clean(one_group, [] { (void)factor_of(slot(0) + 1024, 48); });
}

TEST(emulator_product_faults, what_is_no_shared_memory) {
  array<std::byte> const global(1024, contents::zero, "weights");
  expect_fault(fault_kind::bounds, {"factor_of", "'weights'", "products_test.cpp"}, one_group,
               [global = global.data()] { (void)factor_of(global, 0); });
}

} // namespace
} // namespace mk::test
