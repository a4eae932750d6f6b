/// Each wait, arrival, fence, barrier and commit in small kernels of the lane functions is there for a reason: without
/// it some schedule faults or gives other words. Those for which that is not so are listed with their reasons, and no
/// others.

#include <megakernels/tylo/emulator/launch.hpp>

#include "kit.hpp"
#include "primitive_sites/barriers.hpp"
#include "primitive_sites/clusters.hpp"
#include "primitive_sites/copies.hpp"
#include "primitive_sites/global_words.hpp"
#include "primitive_sites/products.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace mk::test::primitive_sites {
namespace {

using emulator::completion;
using emulator::statistics;
using emulator::used_site;

/// A site that is not needed.
struct unneeded_site {
  char const* code; ///< from the site's line on
  char const* reason;
};

/// A kernel that orders no more than it must.
struct small_kernel {
  char const* name;
  bool (*is_right)(options const&);
  std::vector<unneeded_site> may_go_unnoticed{};
};

small_kernel const kernels[] = {
    {"ring_of_threads", run_ring_of_threads},
    {"named_barriers", run_named_barriers},
    {"barriers_of_a_warp", run_barriers_of_a_warp},
    {"ring_of_loads", run_ring_of_loads},
    {"stores_from_two_slots", run_stores_from_two_slots},
    {"stores_to_loads", run_stores_to_loads},
    {"round_trip", run_round_trip},
    {"groups_of_copies", run_groups_of_copies},
    {"copies_to_stores", run_copies_to_stores},
    {"copies_and_arrivals", run_copies_and_arrivals},
    {"peers", run_peers},
    {"reads_of_a_peer", run_reads_of_a_peer},
    {"multicasts_to_one_slot", run_multicasts_to_one_slot},
    {"multicast",
     run_multicast,
     {{"tylo::sync_cluster();\n}",
       "each CTA has waited for all that comes to its memory, and reaches for no other's"}}},
    {"the_last_adds_up", run_the_last_adds_up},
    {"a_lock", run_a_lock},
    {"a_chain", run_a_chain},
    {"a_counter", run_a_counter},
    {"a_map_of_another_cta", run_a_map_of_another_cta},
    {"products_from_a_ring", run_products_from_a_ring},
    {"products_of_written_factors", run_products_of_written_factors},
    {"warp_product", run_warp_product},
    {"move_matrices", run_move_matrices},
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
    how.deleted_site = {s.file, s.line, s.step};
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
} // namespace mk::test::primitive_sites
