#include <megakernels/scheduler/order.hpp>
#include <megakernels/scheduler/place.hpp>

#include "kit.hpp"
#include "toy_operations.hpp"

#include <numeric>

namespace mk {
namespace {

using numbers = std::vector<std::uint32_t>;

/// Tasks of these lengths; each waits for the tasks listed with it.
struct fixture {
  tiling tiles;
  dependencies depends;

  std::uint32_t task(double seconds, numbers producers = {}) {
    auto const index = static_cast<std::uint32_t>(tiles.tasks.size());
    tiles.tasks.push_back({.node = index, .row_last = 1, .seconds = seconds});
    depends.waits.emplace_back();
    if (producers.empty()) return index;
    depends.waits.back().push_back(static_cast<std::uint32_t>(depends.sets.size()));
    depends.sets.push_back(std::move(producers));
    return index;
  }
  placement on(std::int64_t workers) const { return place(tiles, depends, {.workers = workers}); }
};

TEST(place, levels_are_the_longest_chains) {
  fixture f;
  auto const a = f.task(1), b = f.task(1), c = f.task(1, {a}), d = f.task(1, {b, c});
  f.task(1, {d});
  EXPECT_EQ(f.on(2).level, (numbers{0, 0, 1, 2, 3}));
}

TEST(place, the_worker_with_least_to_do_takes_the_next_task) {
  fixture f;
  for (double seconds : {5, 1, 1, 1, 1, 1}) f.task(seconds);
  EXPECT_EQ(f.on(2).worker, (numbers{0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(f.on(3).worker, (numbers{0, 1, 2, 1, 2, 1}));
  EXPECT_EQ(f.on(64).worker, (numbers{0, 1, 2, 3, 4, 5}));
}

TEST(place, each_level_starts_anew) {
  fixture f;
  auto const a = f.task(9), b = f.task(1);
  f.task(1, {a, b});
  f.task(1, {a, b});
  EXPECT_EQ(f.on(2).worker, (numbers{0, 1, 0, 1}));
}

TEST(order, by_level_then_as_the_graph_says) {
  placement const p{.worker = {0, 0, 1, 0, 0}, .level = {1, 0, 0, 1, 0}};
  auto const lists = order(p, {.workers = 3});
  EXPECT_EQ(lists, (std::vector<numbers>{{1, 4, 0, 3}, {2}, {}}));
}

TEST(order, every_task_follows_what_it_waits_for) {
  kit::random r(3);
  for (int i = 0; i < 200; ++i) {
    fixture f;
    for (auto count = r.integer(1, 60); count > 0; --count) {
      numbers producers;
      for (std::uint32_t p = 0; p < f.tiles.tasks.size(); ++p)
        if (r.chance(10)) producers.push_back(p);
      f.task(static_cast<double>(r.integer(1, 9)), producers);
    }
    auto const places = f.on(r.integer(1, 9));
    auto const lists = order(places, {.workers = 9});
    std::vector<std::size_t> rank(f.tiles.tasks.size()); // of a task: the level comes first, over all workers
    std::size_t listed = 0;
    for (auto const& list : lists) {
      listed += list.size();
      for (std::size_t k = 0; k < list.size(); ++k) rank[list[k]] = k;
    }
    EXPECT_EQ(listed, rank.size());
    for (std::uint32_t t = 0; t < rank.size(); ++t)
      for (auto set : f.depends.waits[t])
        for (auto p : f.depends.sets[set]) {
          EXPECT_LT(places.level[p], places.level[t]);
          if (places.worker[p] == places.worker[t]) {
            EXPECT_LT(rank[p], rank[t]);
          }
        }
  }
}

} // namespace
} // namespace mk
